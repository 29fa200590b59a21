"""What a part measures: tables of numbers, to be printed, kept, and compared with those of another day or machine."""

from __future__ import annotations

import dataclasses
import datetime
import json
import platform
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.processes import cores


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows of numbers.

    title: its heading, "" where it goes on under the one before. about: what is said above it. first: what a row is.
    columns: the format of each column's numbers, by its title. rows: by name, a number (None: there is none) for each
    column.
    """

    title: str
    first: str
    columns: dict[str, str]
    rows: dict[str, tuple[float | None, ...]]
    about: str = ""

    def lines(self) -> Iterator[str]:
        """The table in Markdown."""
        if self.title:
            yield f"\n## {self.title}"
        if self.about:
            yield f"\n{self.about}"
        yield f"\n| {self.first} | " + " | ".join(self.columns) + " |\n|---|" + "---|" * len(self.columns)
        for name, values in self.rows.items():
            cells = [
                "-" if value is None else form.format(value)
                for form, value in zip(self.columns.values(), values, strict=True)
            ]
            yield f"| {name.replace('|', chr(92) + '|')} | {' | '.join(cells)} |"


def save(path: Path, parts: dict[str, list[Table]]) -> None:
    """Keeps what was measured with the date, the machine and the versions."""
    from posenc_jax.runs.environment import environment

    record = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": {"processor": processor(), "cores": len(cores()), "system": platform.platform()},
        "environment": environment(),
        "parts": {name: [dataclasses.asdict(table) for table in tables] for name, tables in parts.items()},
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def compared(before: dict[str, Any], parts: dict[str, list[Table]]) -> Iterator[str]:
    """Every number over that of the same part, table, row and column of a kept measurement, in Markdown."""
    machine = before["machine"]
    yield f"\n## Over {before['date']}, on {machine['cores']} cores of {machine['processor']}\n"
    yield "| part | row | column | then | now | ratio |\n|---|---|---|---|---|---|"
    for part, tables in parts.items():
        then = numbers(before["parts"].get(part, []))
        for key, now in numbers([dataclasses.asdict(table) for table in tables]).items():
            if then.get(key) is None or now is None or not then[key]:
                continue
            row, column = (word.replace("|", chr(92) + "|") for word in key[-2:])
            yield f"| {part} | {row} | {column} | {then[key]:.4g} | {now:.4g} | {now / then[key]:.2f} |"


def numbers(tables: Iterable[dict[str, Any]]) -> dict[tuple[str, str, str], float | None]:
    """Every number by its table, row and column; tables by what names them, for one has many."""
    return {
        (f"{table['title']} {table['about']} {table['first']}", name, column): value
        for table in tables
        for name, values in table["rows"].items()
        for column, value in zip(table["columns"], values, strict=True)
    }


def processor() -> str:
    """The name of the processor, as far as it is told."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
