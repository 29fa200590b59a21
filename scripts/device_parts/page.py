"""The page of what devices answered: all tables, from the files that were sent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from device_parts import record
from device_parts.part import Part

PAGE = Path(__file__).with_name("README.md")
MEASURED = Path(__file__).with_name("measured")
_HEAD = """# What accelerators answered

Written by `scripts/on_device --collect scripts/device_parts/measured` from the files in that folder. How to measure is
on [the page about accelerators](../docs/guides/accelerators.md).
"""
_NOTHING = "Nobody has measured this yet.\n"


def collected(folder: Path) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """The records of each part, in the order of their files; and a line for each file that is none."""
    found: dict[str, list[dict[str, Any]]] = {}
    problems = []
    for path in sorted(folder.rglob("*.json")):
        if "runs" in path.relative_to(folder).parts:
            continue  # what ablations wrote
        try:
            own = record.read(path)
            if own["miniature"]:
                raise ValueError(f"{path} is a miniature: it only shows that the code runs")
        except ValueError as error:
            problems.append(str(error))
        else:
            found.setdefault(own["part"], []).append(own)
    return found, problems


def page(parts: dict[str, Part], records: dict[str, list[dict[str, Any]]]) -> str:
    """Markdown: a section for each part, in it a table for each device."""
    sections = [line for part in parts.values() for line in _section(part, records.get(part.name, []))]
    return "\n".join([_HEAD, *sections])


def _section(part: Part, records: list[dict[str, Any]]) -> Iterator[str]:
    yield f"## {part.title}\n"
    if not records:
        yield _NOTHING
    for own in records:
        rows = {name: row for name, row in own["rows"].items() if record.is_measured(row)}
        yield f"{_where(own)}\n"
        if rows:
            table = part.table(rows)
            lines = list(table.lines())
            yield "\n".join(line.strip("\n") for line in lines[1:]).replace(f"{part.about}\n", f"{part.about}.\n\n", 1)
            yield ""
        for name, row in own["rows"].items():
            if why := row.get("left_out") or row.get("failed") or row.get("stopped") or row.get("out_of_memory"):
                yield f"- {name}: {why}"
        yield ""


def _where(own: dict[str, Any]) -> str:
    """Device, versions, clocks."""
    found = own["environment"]
    smi = next((row["nvidia_smi"] for row in own["rows"].values() if row.get("nvidia_smi")), None)
    clocks = ""
    if smi is not None:
        clocks = f", driver {smi['driver_version']}, at most {smi['clocks.max.sm']} and {smi['power.limit']}"
    return (
        f"{found['device_kind']}{clocks}; jax {found['jax']}, Python {found['python']}, {own['date']}: "
        f"`scripts/on_device {own['part']}`."
    )
