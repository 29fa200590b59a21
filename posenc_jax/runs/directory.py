"""What lies in a run's directory: which config it belongs to, which groups it has, what is finished; and who may
write.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from posenc_jax.config import Run, difference, from_json, identity, to_json
from posenc_jax.runs.files import write_atomically

Replica = tuple[int, float]
"""Seed and learning rate."""


class RefusedError(ValueError):
    """The directory belongs to something else, or is in use; the message says what to do."""


def results(directory: Path, config: Run | None = None) -> list[dict]:
    """The finished groups' results, in order; only those with a replica of ``config`` if given."""
    found = []
    for path in sorted(directory.glob("group-*/result.json")):
        result = read_json(path)
        if config is None or any((r["seed"], r["learning_rate"]) in config.replicas for r in result["replicas"]):
            found.append(result)
    return found


def group_directories(directory: Path) -> list[Path]:
    """The groups of a run's directory, in order; a group's directory is its own only one."""
    return sorted(directory.glob("group-*")) or [directory]


def complete(directory: Path, config: Run) -> bool:
    """True when every replica of ``config`` has a result."""
    done = {(r["seed"], r["learning_rate"]) for result in results(directory) for r in result["replicas"]}
    return done.issuperset(config.replicas)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Makes the directory and holds it for this process; the lock dies with the process, whatever kills it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file = (directory / "lock").open("a+")
    except OSError as error:
        raise RefusedError(f"cannot write in {directory} ({error.strerror}): choose another directory") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RefusedError(
                f"{directory} is in use by process {file.read().strip() or '?'}: wait for it, or choose another "
                "directory"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def claim(directory: Path, config: dict) -> None:
    """Writes ``config.json``, or refuses when the directory holds another config."""
    path = directory / "config.json"
    refuse_other(directory, config)
    if not path.exists() or read_json(path) != config:
        write_atomically(path, json.dumps(config, indent=1) + "\n")


def refuse_other(directory: Path, config: dict) -> None:
    """Refuses a directory that holds another config."""
    path = directory / "config.json"
    if not path.exists():
        return
    old = read_json(path)
    if old.get("type") != config["type"]:
        raise RefusedError(
            f"{directory} holds something else than a single run (see its config.json): choose another directory"
        )
    lines = difference(identity(old), identity(config))
    if lines:
        raise RefusedError(
            f"{directory} holds another config; choose another directory, or go back to it. Differences:\n  "
            + "\n  ".join(lines)
        )


def read_json(path: Path) -> dict:
    """The object in a JSON file of ours; RefusedError when the file is damaged."""
    try:
        data = json.loads(path.read_text())
        if not isinstance(data, dict):
            raise ValueError("it holds no object")
    except ValueError as error:  # also bytes that are no text
        raise RefusedError(
            f"{path} is damaged ({error}): restore it, or move {path.parent} away to start that part over"
        ) from None
    return data


@dataclasses.dataclass(frozen=True)
class Group:
    """Replicas that train together, and where. ``size`` counts the spares that fill it."""

    directory: Path
    replicas: tuple[Replica, ...]
    size: int

    @property
    def filled(self) -> tuple[Replica, ...]:
        """The replicas, the last repeated until the group is full."""
        return self.replicas + (self.replicas[-1],) * (self.size - len(self.replicas))


def plan(directory: Path, config: Run, size: int) -> list[Group]:
    """The groups that are there already, and new ones of ``size`` replicas for those that none of them has."""
    groups: list[Group] = []
    taken: set[Replica] = set()
    for path in sorted(directory.glob("group-*/config.json")):
        data = read_json(path)
        lines = difference(identity(data["config"]), identity(to_json(config)))
        if lines:
            raise RefusedError(
                f"{path.parent} belongs to another config; choose another directory, or move it away. Differences:\n  "
                + "\n  ".join(lines)
            )
        replicas = tuple((seed, rate) for seed, rate in data["replicas"])
        taken.update(replicas)
        if set(replicas) & set(config.replicas):
            groups.append(Group(path.parent, replicas, data["group_size"]))
    number = len(list(directory.glob("group-*/config.json")))
    missing = [replica for replica in config.replicas if replica not in taken]
    for start in range(0, len(missing), size):
        group = Group(directory / f"group-{number:03d}", tuple(missing[start : start + size]), size)
        group.directory.mkdir(exist_ok=True)
        data = {"config": to_json(config), "replicas": group.replicas, "group_size": size}
        write_atomically(group.directory / "config.json", json.dumps(data, indent=1) + "\n")
        groups.append(group)
        number += 1
    return groups


def load_config(directory: Path) -> Run:
    """The config of a run's directory."""
    path = directory / "config.json"
    if not path.exists():
        raise RefusedError(f"{directory} is no run: it has no config.json")
    data = read_json(path)
    try:
        config = from_json(data.get("config", data))
    except (ImportError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise RefusedError(
            f"{path} cannot be read as a config ({type(error).__name__}: {error}): "
            "run the command in the folder that the run was started from, with the version that wrote it"
        ) from None
    if not isinstance(config, Run):
        raise RefusedError(f"{directory} is no run: it holds an ablation, each of whose cells is a directory in it")
    return config
