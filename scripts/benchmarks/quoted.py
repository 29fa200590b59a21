"""What scripts/bench measured, in Markdown, as pages quote it."""

from __future__ import annotations

from typing import Any

from benchmarks.results import Table
from benchmarks.sentences import sentences

Json = dict[str, Any]


def numbered(parts: Json) -> str:
    """The ten sentences, a line of a list each."""
    return "".join(f"{number}. {said}\n" for number, said in enumerate(sentences(parts), 1))


def all_tables(kept: Json, part: str) -> str:
    """All tables of a part, with when and on what it was measured."""
    lines = [line for one in kept["tables"] for line in Table(**one).lines()]
    return "\n".join([f"\n{_measured_on(kept, part)}", *lines]).replace("\n## ", "\n### ") + "\n\n"


def side_by_side(kept: Json, part: str) -> str:
    """Tables of the same rows as one: a column each, milliseconds and in brackets the speed."""
    tables = kept["tables"]
    rows = [name for name in tables[0]["rows"] if all(name in one["rows"] for one in tables)]
    titles = [one["title"].partition(", ")[2] for one in tables]
    lines = [["", *titles], ["---"] * (len(titles) + 1)]
    for name in rows:
        cells = [one["rows"][name] for one in tables]
        lines.append([name, *(f"{ms:.1f} ({speed:.2f})" if speed else f"{ms:.1f}" for ms, speed in cells)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + f"\n{_measured_on(kept, part)}\n"


def _measured_on(kept: Json, part: str) -> str:
    machine, environment = kept["machine"], kept["environment"]
    return (
        f"Measured on {kept['date']}, {machine['cores']} cores of {machine['processor']}, jax {environment['jax']}, "
        f"Python {environment['python']}, commit {environment['commit'][:8]}: `scripts/bench {part}`."
    )
