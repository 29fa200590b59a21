"""Whose a run's directory is: claimed for a config and its code, refused to others; and which groups are to be run."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from posenc_jax.config import Run, config_hash, to_json
from posenc_jax.files import make_directory, remove_unfinished
from posenc_jax.runs import own_code
from posenc_jax.runs.directory import (
    FORMAT,
    GROUP_NAME,
    Group,
    checked,
    code_in,
    differences_from,
    group_directories,
    groups_of,
    is_group,
)
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import locked, write_json
from posenc_jax.shapes import Json


def check_writable(directory: Path) -> None:
    """Refuses a directory that cannot be made or written in."""
    there = next(path for path in (directory, *directory.parents) if path.exists())
    if not there.is_dir():
        raise RefusedError(f"cannot write in {directory} ({there} is a file): choose another directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise RefusedError(f"cannot write in {directory} (no permission in {there}): choose another directory")


def claim(directory: Path, config: Any, *, accept_changed_code: bool = False) -> None:
    """Writes ``config.json`` and copies of the user's own code, or refuses as `refuse_other`."""
    refuse_other(directory, config, accept_changed_code=accept_changed_code)
    own_code.save(config, directory)
    write_json(directory / "config.json", _data(config))


def refuse_other(directory: Path, config: Any, *, accept_changed_code: bool = False, claimed: bool = False) -> None:
    """Refuses a directory that holds another config, or results of other code of the user's.

    claimed: whether others have claimed it, so that their code counts before anything is computed.
    """
    path = directory / "config.json"
    if path.exists() and (lines := differences_from(path, checked(path), config)):
        holds = "a run" if isinstance(config, Run) else "an ablation"
        empty = "" if _begun_in(directory) else " (nothing is computed in it yet: it can be removed)"
        raise RefusedError(
            f"{directory} holds {holds} with other settings{empty}; choose another directory, or go back to them. "
            "Differences:\n  " + "\n  ".join(lines)
        )
    if isinstance(config, Run):
        groups_of(directory, config)
    if not accept_changed_code:
        refuse_changed_code(directory, changed_code(directory, own_code.digests(config), claimed=claimed))


def changed_code(directory: Path, code: own_code.Digests, *, claimed: bool = False) -> list[str]:
    """The user's classes that differ in ``code`` from those by which a run, or a group of it, computed something, or
    (``claimed``) will.
    """
    found: list[str] = []
    for path in dict.fromkeys(home / "config.json" for home in (directory, *group_directories(directory))):
        if not path.exists():
            continue
        was = code_in(path)
        if was.keys() & code.keys():
            users = [path.parent] if claimed else _begun_in(path.parent)
            used = {name for user in users for name in code_in(user / "config.json")}
            found += own_code.changes({name: digest for name, digest in was.items() if name in used}, code)
    return list(dict.fromkeys(found))


def _begun_in(directory: Path) -> list[Path]:
    """The runs in a directory, which may be one, that have computed anything; of a group itself."""
    inner = [path.parent for path in directory.glob("*/config.json")]
    if any(map(is_begun, [directory, *inner])):
        return [directory]
    return [path for cell in inner for path in _begun_in(cell)]


def is_begun(group: Path) -> bool:
    """True if a group has computed anything: a result, a checkpoint or the loss of a step."""
    log, checkpoints = group / "metrics.jsonl", group / "checkpoints"
    return (
        any(group.glob("result.json*"))
        or (log.exists() and log.stat().st_size > 0)
        or (checkpoints.is_dir() and any(checkpoints.iterdir()))
    )


def refuse_changed_code(directory: Path, changes: list[str]) -> None:
    """RefusedError if there are any."""
    if changes:
        raise RefusedError(
            f"{directory} has results of other code: {'; '.join(changes)}; go back to that code, choose another "
            "directory, or accept the change (accept_changed_code), which marks what other code computed"
        )


def plan(directory: Path, config: Run, size: int) -> list[Group]:
    """The groups that are there already, and new ones of ``size`` replicas for those that none of them has."""
    there = groups_of(directory, config)
    taken = {replica for group in there for replica in group.replicas}
    asked = set(config.replicas)
    groups = [group for group in there if not asked.isdisjoint(group.replicas)]
    for group in groups:
        _begin_again(group, config)
    _remove_half_made(directory)
    # Never a number that is in use, under whatever name: a group may have been renamed.
    used = [
        int(found[1]) for found in map(GROUP_NAME.match, (path.name for path in directory.glob("group-*"))) if found
    ]
    number = max(used, default=-1) + 1
    missing = [replica for replica in config.replicas if replica not in taken]
    for start in range(0, len(missing), size):
        replicas = tuple(missing[start : start + size])
        group = Group(directory / f"group-{number:03d}", replicas, size, config_hash(config))
        make_directory(group.directory)
        _write_group(group, config)
        groups.append(group)
        number += 1
    return groups


def _write_group(group: Group, config: Run) -> None:
    members = {"replicas": [list(replica) for replica in group.replicas], "group_size": group.size}
    write_json(group.directory / "config.json", {**_data(config), **members, "config_hash": group.config_hash})


def _begin_again(group: Group, config: Run) -> None:
    """Makes a group that has computed nothing one of the user's code as it is now, unless a process works on it."""
    path = group.directory / "config.json"
    if code_in(path) == own_code.digests(config) or is_begun(group.directory):
        return
    with contextlib.suppress(RefusedError), locked(group.directory):
        (group.directory / "environment.json").unlink(missing_ok=True)
        _write_group(group, config)


def _remove_half_made(directory: Path) -> None:
    """Removes groups without a file, whose makers were killed, so that the next one is called as theirs."""
    for path in directory.glob("group-*"):
        if is_group(path) and path.is_dir() and not path.is_symlink() and not any(path.glob("*.json")):
            remove_unfinished(path)
            with contextlib.suppress(OSError):  # it has files
                path.rmdir()


def _data(config: Any) -> Json:
    return {"format": FORMAT, "config": to_json(config), "code": own_code.digests(config)}
