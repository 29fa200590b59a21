"""The slow tests in parts, of which `.ci/run` runs one: a file is in one part, as its tests share what they make.

    python tests/slow_parts.py LOG ...      # writes tests/slow_seconds.json from what pytest printed

A log is the output of ``scripts/test --slow`` or ``--slow-part`` with ``--durations=0``; files that no log has keep
their seconds.
"""

from __future__ import annotations

import collections
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PARTS = 6
MEASURED = Path(__file__).with_name("slow_seconds.json")
_ROOT = MEASURED.parent.parent
_SECONDS = 60
"""Of the slow tests of a file that was never measured."""
_DURATION = re.compile(r"^ *([\d.]+)s (?:setup|call|teardown) +(tests/\S+?\.py)::", re.MULTILINE)


def slow_part(items: Iterable[Any], number: int, measured: dict[str, int] | None = None) -> set[Path]:
    """The files of one part. The longest, as ``measured`` in seconds, are dealt out first, each to the shortest part so
    far.
    """
    measured = json.loads(MEASURED.read_text()) if measured is None else measured
    files = {i.path for i in items if any(i.get_closest_marker(mark) for mark in ("slow", "gpu"))}
    seconds = {path: measured.get(_name(path), _SECONDS) for path in files}
    parts: list[set[Path]] = [set() for _ in range(PARTS)]
    for path in sorted(seconds, key=lambda path: (-seconds[path], path)):
        min(parts, key=lambda part: sum(seconds[own] for own in part)).add(path)
    return parts[number]


def _name(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else path.as_posix()


def seconds_in(log: str) -> dict[str, int]:
    """The seconds of each file in what pytest printed, 1 at least."""
    found: collections.Counter[str] = collections.Counter()
    for seconds, file in _DURATION.findall(log):
        found[file] += float(seconds)
    return {file: max(1, round(total)) for file, total in found.items()}


if __name__ == "__main__":
    known: dict[str, int] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for log in sys.argv[1:]:
        known |= seconds_in(Path(log).read_text(errors="replace"))
    kept = {file: known[file] for file in sorted(known) if (_ROOT / file).exists()}
    MEASURED.write_text(json.dumps(kept, indent=1) + "\n")
