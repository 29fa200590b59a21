"""Measurements of a part: tables of numbers, to be printed, kept, and compared with those of another day or machine."""

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

    Attributes:
      title: its heading, "" where it goes on under the one before.
      about: what is said above it.
      first: what a row is.
      columns: the format of each column's numbers, by its title.
      rows: by name, a number (None: there is none) for each column.
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
    """Keeps each part with its date, machine and versions; other parts, and those of other processors, stay.

    Raises:
      ValueError: the file is there, and `save` did not write it.
    """
    from posenc_jax.files.atomic import write_atomically
    from posenc_jax.runs.environment import environment

    measured = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "machine": machine()}
    measured["environment"] = environment()
    kept = read(path) if path.exists() else {}
    for name, tables in parts.items():
        own = measured | {"tables": [dataclasses.asdict(one) for one in tables]}
        kept.setdefault(name, {})[measured["machine"]["processor"]] = own
    write_atomically(path, json.dumps({"parts": kept}, indent=1) + "\n")


def read(path: Path) -> dict[str, Any]:
    """Reads a file of `save`: of every part, by the name of the processor, date, machine, environment and tables;
    ValueError for anything else.
    """
    try:
        parts: dict[str, Any] = json.loads(path.read_text())["parts"]
        for kept in [kept for processors in parts.values() for kept in processors.values()]:
            numbers(kept["tables"])
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError("it has no parts with tables by processor") from error
    return parts


def machine() -> dict[str, Any]:
    """The machine of the measurements."""
    return {"processor": processor(), "cores": len(cores()), "system": platform.platform()}


def compared(before: dict[str, Any], parts: dict[str, list[Table]]) -> Iterator[str]:
    """Every number over that of the same part, table, row and column of what `read` gives for this processor, or else
    for the first, in Markdown, after when and where each was measured; what was not measured then has a dash.
    """
    now = machine()
    kept = {p: before[p].get(now["processor"]) or next(iter(before[p].values())) for p in parts if p in before}
    yield f"\n## Over what was kept\n\nNow: {_on(now)}."
    yield from (f"{name}, then: {own['date']}, {_on(own['machine'])}." for name, own in kept.items())
    yield "\n| part | row | column | then | now | ratio |\n|---|---|---|---|---|---|"
    for part, tables in parts.items():
        then = numbers(kept.get(part, {"tables": []})["tables"])
        for key, now in numbers(dataclasses.asdict(table) for table in tables).items():
            old = then.get(key)
            row, column = (word.replace("|", chr(92) + "|") for word in key[1:])
            shown = ("-" if number is None else f"{number:.4g}" for number in (old, now))
            ratio = f"{now / old:.2f}" if old and now is not None else "-"
            yield f"| {' | '.join((part, row, column, *shown, ratio))} |"


def _on(machine: dict[str, Any]) -> str:
    return f"{machine['cores']} cores of {machine['processor']}"


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
