"""Environments in which the groups of a run began and went on, which decide if their results are bit-exact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from posenc_jax.environments import OF_PROCESS, compared
from posenc_jax.runs.directory import Group, checkpoint_steps, group_directories
from posenc_jax.runs.errors import DamagedFileError
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.own_code import changes
from posenc_jax.shapes import problem

Environment = dict[str, Any]
"""That of `environment`, with ``mode`` and ``own``, the digests of the user's classes."""


def record_environment(
    group: Group, now: Environment, note: Callable[[str], None], start: tuple[Path, list[Environment]] | None = None
) -> bool:
    """Writes what a group began on, or goes on from now, into its ``environment.json``.

    start: where its first parameters are from, and in which environments they were trained.

    Returns:
      False when that has changed since it began to something that gives other bits, when another group of the run
      began on such, when its start was trained in such, or when nobody knows.

    Raises:
      DamagedFileError: a group's record is not what was written.
    """
    path = group.directory / "environment.json"
    if not path.exists():
        lost = bool(checkpoint_steps(group.directory))
        trained_in = {"start": start[1]} if start else {}
        write_json(path, {"began": {} if lost else now, "resumed": [now] if lost else [], **trained_in})
    record = read_environments(group.directory)
    began, resumed = record["began"], record["resumed"]
    lines = _differences(began, now)
    if lines and now not in resumed:
        resumed.append(now)
        write_json(path, record)
    elsewhere = other_beginnings(group, began)
    trained = [line for own in record["start"] for line in compared(own, now, OF_PROCESS).lines] if start else []
    source = f"{start[0]}, which {group.directory.name} starts from, was trained" if start else ""
    for what, found in ((f"{group.directory.name} began", lines), elsewhere, (source, list(dict.fromkeys(trained)))):
        if found:
            note(f"{what} elsewhere, its result will be marked bit_exact=false: {'; '.join(found)}")
    return not resumed and not elsewhere[1] and not trained


def read_environments(group: Path) -> dict[str, Any]:
    """``began``, empty where nobody knows, ``resumed``, in which environments that differ a group went on, and
    ``start``, in which what it started from was trained.
    """
    path = group / "environment.json"
    if not path.exists():
        return {"began": {}, "resumed": [], "start": []}
    way_out = (
        f"restore it, or move it away: what {group.name} began on is then unknown, and what is trained from there on "
        "is not called bit-exact"
    )
    record = read_json(path, way_out)
    if wrong := problem(record, _RECORD):
        raise DamagedFileError(path, wrong, way_out)
    return {"began": record.get("began", {}), **{name: record.get(name) or [] for name in ("resumed", "start")}}


_RECORD = {"began?": {"own?": {str: str}}, "resumed?": [{"own?": {str: str}}], "start?": [{}]}


def _differences(old: Environment, new: Environment) -> list[str]:
    if not old:
        return ["what it began on is not recorded"]
    return compared(old, new).lines + changes(old.get("own", {}), new.get("own", {}))


def other_beginnings(group: Group, began: Environment) -> tuple[str, list[str]]:
    """The first group of the run that began on something else, in words, and what differs."""
    for directory in group_directories(group.directory.parent):
        if directory != group.directory and (other := read_environments(directory)["began"]):
            lines = _differences(other, began) if began else []
            if lines:
                return f"{directory.name}, beside {group.directory.name}, began", lines
    return "", []
