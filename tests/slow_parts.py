"""The slow tests in parts, of which `.ci/run` runs one: a file is in one part, as its tests share what they make."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

PARTS = 6
_MINUTES = 5
"""Of a slow test that has no timeout of its own; half an hour at most, as who asks for more is seldom there to run."""


def slow_part(items: Iterable[Any], number: int) -> set[Path]:
    """The files of one part. The longest, by the timeouts of their tests, are dealt out first, each to the shortest
    part so far.
    """
    minutes: dict[Path, float] = {}
    for item in items:
        timeout = item.get_closest_marker("timeout")
        asked = min(timeout.args[0] / 60, 30) if timeout and timeout.args else _MINUTES
        if any(item.get_closest_marker(mark) for mark in ("slow", "gpu")):
            minutes[item.path] = minutes.get(item.path, 0) + asked
    parts: list[set[Path]] = [set() for _ in range(PARTS)]
    for path in sorted(minutes, key=lambda path: (-minutes[path], path)):
        min(parts, key=lambda part: sum(minutes[own] for own in part)).add(path)
    return parts[number]
