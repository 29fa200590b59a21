"""A part: named cases, each measured by itself and kept as soon as it is.

python -m device_parts.part PART --out DIR [--miniature] measures one part. A case during which the process ended is
tried last the next time. Exit codes: 0 all is measured, 2 the file is of another version, 3 something is missing, 4
there is no device.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import hashlib
import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.results import Table, machine

from device_parts import device
from posenc_jax.files.atomic import write_atomically
from posenc_jax.runs.environment import environment

Row = dict[str, Any]
DONE, REFUSED, PARTLY, NO_DEVICE = 0, 2, 3, 4
PAGE = Path(__file__).with_name("README.md")
HEAD = """# What accelerators answered

Written by `scripts/on_device --collect scripts/device_parts/measured` from the files in that folder. How to measure is
on [the page about accelerators](../docs/guides/accelerators.md).
"""
NOTHING = "Nobody has measured this yet.\n"
DETERMINISTIC = {"XLA_FLAGS": "--xla_gpu_deterministic_ops=true"}
"""As the command line sets it."""
FASTEST = {"XLA_FLAGS": "--xla_gpu_deterministic_ops=false"}
"""Said, for what is not said the command line sets."""
SHARED = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Of a process that leaves memory of the device to others."""


class LeftOutError(Exception):
    """Something that a case needs is not there; the message is one line with the way out."""


@dataclasses.dataclass(frozen=True)
class Part:
    """One question to a device.

    Attributes:
      title: of its table.
      about: what is said above it.
      cases: what measures each row, by its name, the most valuable first; of a CPU's size if asked for a miniature.
      columns: the format of each column's numbers, by its title.
      numbers: those of a row that was measured.
      variables: of the environment of its process.
    """

    name: str
    title: str
    about: str
    cases: Callable[[bool], Mapping[str, Callable[[], Row]]]
    columns: Mapping[str, str]
    numbers: Callable[[Row], tuple[float | None, ...]]
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def table(self, rows: Mapping[str, Row]) -> Table:
        """The rows that were measured; one that ran out of memory has no numbers."""
        nothing = (None,) * len(self.columns)
        found = {name: nothing if "out_of_memory" in row else self.numbers(row) for name, row in rows.items()}
        return Table(self.title, "case", dict(self.columns), found, self.about)


def parts() -> dict[str, Part]:
    """All of them, by value."""
    modules = [importlib.import_module(f"device_parts.{name}") for name in ("checks", "kernels", "steps")]
    return {part.name: part for module in modules for part in module.PARTS}


def serve(part: Part, out: Path, miniature: bool, say: Callable[[str], None] = print) -> int:
    """Measures the cases of a part that its file lacks; the exit code."""
    path = out / f"{part.name}.json"
    try:
        kept = begun(path, new(part.name, miniature))
    except ValueError as error:
        say(f"{part.name}: {error}")
        return REFUSED
    cases = part.cases(miniature)
    wanted = [name for name in cases if not is_measured(kept["rows"].get(name))]
    for name in sorted(wanted, key=lambda name: "begun" in kept["rows"].get(name, {})):
        kept["rows"][name] = {"begun": True}
        write(path, kept)
        start = time.perf_counter()
        row = _row(cases[name]) | {"seconds": round(time.perf_counter() - start, 1), "nvidia_smi": device.smi()}
        kept["rows"][name] = row
        write(path, kept)
        why = next((f": {row[key]}" for key in ("left_out", "failed") if key in row), "")
        say(f"{part.name}, {name}: {row['seconds']} s{why}")
    return DONE if all(is_measured(kept["rows"].get(name)) for name in cases) else PARTLY


def _row(measure: Callable[[], Row]) -> Row:
    try:
        return measure()
    except LeftOutError as error:
        return {"left_out": str(error)}
    except (Exception, SystemExit) as error:  # whatever XLA, a kernel or the device raises: the others go on
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
        if is_out_of_memory(error):
            return {"out_of_memory": lines[0][:200]}
        return {"failed": f"{type(error).__name__}: {lines[0][:200]}"}


def is_measured(row: Row | None) -> bool:
    """True if a row has what it is for; one that was left out, failed or only began does not."""
    return row is not None and not row.keys() & {"left_out", "failed", "begun"}


def is_out_of_memory(error: BaseException) -> bool:
    """True for what XLA raises where the memory of a device is full."""
    return "RESOURCE_EXHAUSTED" in str(error)


def milliseconds(call: Callable[[], Any], rounds: int) -> dict[str, float]:
    """Median, least and most of the rounds after one of warm-up; ``call`` waits for its result."""
    found = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        call()
        found.append((time.perf_counter() - start) * 1e3)
    return {"ms": statistics.median(found[1:]), "least": min(found[1:]), "most": max(found[1:])}


def new(part: str, miniature: bool) -> dict[str, Any]:
    """A record without rows, of this code on this device."""
    here, today = environment(), datetime.datetime.now(datetime.UTC).date().isoformat()
    own = {"part": part, "miniature": miniature, "code": f"{here['source'][:16]}-{_own_code()}"}
    return {**own, "date": today, "environment": here, "machine": machine(), "rows": {}}


@functools.cache
def _own_code() -> str:
    """A digest of the parts' own files."""
    total = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def begun(path: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """The record to go on with: the one of the file, or the new one that is ``wanted``.

    ValueError, in words, where the file is of other code, another device or other sizes.
    """
    if not path.exists():
        return wanted
    kept = read(path)
    here = [(name, kept[name], wanted[name]) for name in ("part", "miniature", "code")]
    here += [(name, kept["environment"].get(name), wanted["environment"][name]) for name in ("jax", "device_kind")]
    for name, then, now in here:
        if then != now:
            raise ValueError(
                f"{path} is of another version ({name} {then!r}, and here {now!r}): move it away, or give another --out"
            )
    return kept


def read(path: Path) -> dict[str, Any]:
    """A file of `write`; ValueError, in words, for anything else."""
    try:
        found = json.loads(path.read_text())
        lacking = {"part", "miniature", "code", "date", "environment", "rows"} - set(found)
    except (OSError, ValueError, TypeError):
        raise ValueError(f"{path} is no whole JSON file: remove it") from None
    if lacking:
        raise ValueError(f"{path} lacks {', '.join(sorted(lacking))}: measure again")
    return found


def write(path: Path, record: dict[str, Any]) -> None:
    """Replaces the file at once."""
    write_atomically(path, json.dumps(record, indent=1) + "\n")


def collected(folder: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """The records of each part, in the order of their files; and a line for each file that is none."""
    found: dict[str, list[dict[str, Any]]] = {}
    problems = []
    for path in sorted(folder.rglob("*.json")):
        try:
            own = read(path)
            if own["miniature"]:
                raise ValueError(f"{path} is a miniature: it only shows that the code runs")
        except ValueError as error:
            problems.append(str(error))
        else:
            found.setdefault(own["part"], []).append(own)
    return found, problems


def page(every: dict[str, Part], records: dict[str, list[dict[str, Any]]]) -> str:
    """Markdown: a section for each part, in it a table for each device."""
    return "\n".join([HEAD, *(line for part in every.values() for line in _section(part, records.get(part.name, [])))])


def _section(part: Part, records: list[dict[str, Any]]) -> Iterator[str]:
    yield f"## {part.title}\n"
    if not records:
        yield NOTHING
    for own in records:
        found = own["environment"]
        yield (
            f"{found['device_kind']}; jax {found['jax']}, Python {found['python']}, {own['date']}: "
            f"`scripts/on_device {own['part']}`.\n"
        )
        if rows := {name: row for name, row in own["rows"].items() if is_measured(row)}:
            lines = list(part.table(rows).lines())
            yield "\n".join(line.strip("\n") for line in lines[1:]).replace(f"{part.about}\n", f"{part.about}.\n\n", 1)
            yield ""
        for name, row in own["rows"].items():
            if why := row.get("left_out") or row.get("failed") or row.get("out_of_memory"):
                yield f"- {name}: {why}"
        yield ""


def main(arguments: list[str]) -> int:
    """Measures the part that is named."""
    parser = argparse.ArgumentParser(prog="device_parts.part")
    parser.add_argument("part")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--miniature", action="store_true")
    options = parser.parse_args(arguments)
    from posenc_jax.cli.session import prepare_jax

    prepare_jax()
    if not options.miniature and (line := device.missing()):
        print(f"{options.part}: {line}", flush=True)
        return NO_DEVICE
    return serve(parts()[options.part], options.out, options.miniature, lambda line: print(line, flush=True))


if __name__ == "__main__":
    from device_parts import part  # whose classes the parts have

    sys.exit(part.main(sys.argv[1:]))
