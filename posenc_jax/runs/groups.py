"""Groups that a cell is trained in: which replicas are missing, where they go, and what is done about damage."""

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from posenc_jax.config import Run, config_hash
from posenc_jax.encodings import spec
from posenc_jax.files.atomic import make_directory, remove_unfinished
from posenc_jax.files.shapes import Json
from posenc_jax.runs.checkpoint import Checkpoints
from posenc_jax.runs.directory import (
    GROUP_NAME,
    Group,
    Replica,
    Stored,
    groups_of,
    is_group,
    replicas_of,
    results_by_group,
)
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import DamagedFileError, RefusedError
from posenc_jax.runs.files import Log, locked, write_json
from posenc_jax.runs.identity import config_record, is_begun, refuse_other, take
from posenc_jax.runs.own_code import digests
from posenc_jax.training.layout import Devices, layout_of


@dataclasses.dataclass(frozen=True)
class Begun:
    """A cell's directory as it is found.

    Attributes:
      results: of the finished groups, also of replicas that the config does not ask for.
      missing: the replicas that have none.
    """

    stored: Stored
    results: dict[Path, Json]
    missing: tuple[Replica, ...]


def read_begun(stored: Stored, config: Run, *, accept_changed_code: bool = False) -> Begun:
    """Reads what there is of a cell; RefusedError if it is of another config, or of other code of the user's."""
    refuse_other(stored, config, accept_changed_code=accept_changed_code)
    found = dict(results_by_group(stored))
    done = {replica for result in found.values() for replica in replicas_of(result)}
    missing = tuple(replica for replica in config.replicas if replica not in done)
    return Begun(stored, found, missing)


def take_over(begun: Begun, config: Run) -> None:
    """Makes a directory, which the caller holds, that of a config and its code; DamagedFileError where rows that belong
    to a result are damaged.
    """
    take(begun.stored, config)
    for group, result in begun.results.items():
        refuse_damaged_metrics(group, result)


def groups_of_missing(config: Run, begun: Begun, devices: Devices) -> list[Group]:
    """The groups that had no result when they were read: those that are there, and new ones, laid out for these
    devices. Another process may have finished one since, whose result counts as one of them; or all before they were
    read, and then none is missing.
    """
    if not begun.missing:
        return []
    groups = plan(begun.stored, config, layout_of(config, len(begun.missing), devices).size)
    return [group for group in groups if group.directory not in begun.results]


def plan(stored: Stored, config: Run, size: int) -> list[Group]:
    """The groups that are there already, and new ones of ``size`` replicas for those that none of them has."""
    directory, there = stored.directory, groups_of(stored, config)
    taken = {replica for group in there for replica in group.replicas}
    asked = set(config.replicas)
    groups = [group for group in there if not asked.isdisjoint(group.replicas)]
    code = {inner.directory: inner.code for inner in stored.groups}
    for group in groups:
        if code[group.directory] != digests(config):
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
        write_group(group, config)
        groups.append(group)
        number += 1
    return groups


def write_group(group: Group, config: Run) -> None:
    """Writes the ``config.json`` of a group."""
    members = {"replicas": [list(replica) for replica in group.replicas], "group_size": group.size}
    write_json(group.directory / "config.json", {**config_record(config), **members, "config_hash": group.config_hash})


def result_record(config: Run, group: Group, sizes: Mapping[str, int], mode: str, replicas: Sequence[Json]) -> Json:
    """What a ``result.json`` tells of a group, by the sizes of a replica's parameters and the mode of its execution."""
    machine = environment()
    return {
        "label": config.label,
        "table": config.table,
        "posenc": spec(config.posenc),
        "config_hash": group.config_hash,
        "num_parameters": sum(sizes.values()),
        "num_posenc_parameters": sum(size for name, size in sizes.items() if name.startswith("posenc.")),
        "mode": mode,
        "group_size": group.size,
        **{name: machine[name] for name in ("device_kind", "device_count", "threads")},
        "replicas": replicas,
    }


def _begin_again(group: Group, config: Run) -> None:
    """Makes a group that has computed nothing one of the user's code as it is now, unless a process works on it."""
    if is_begun(group.directory):
        return
    with contextlib.suppress(RefusedError), locked(group.directory):
        (group.directory / "environment.json").unlink(missing_ok=True)
        write_group(group, config)


def _remove_half_made(directory: Path) -> None:
    """Removes groups without a file, whose makers were killed, so that the next one is called as theirs."""
    for path in directory.glob("group-*"):
        if is_group(path) and path.is_dir() and not path.is_symlink() and not any(path.glob("*.json")):
            remove_unfinished(path)
            with contextlib.suppress(OSError):  # it has files
                path.rmdir()


def refuse_damaged_metrics(group: Path, result: Json) -> None:
    """DamagedFileError when the metrics of a finished group are not those that there were when it was finished."""
    log = Log(group / "metrics.jsonl")
    if not log.path.exists() or log.digest_of_all() == result["metrics_sha256"]:
        return
    way_out = (
        f"restore it, or move it away, and only the course of training is lost, or move {group} away to train it again"
    )
    raise DamagedFileError(log.path, log.problem(), way_out)


def refuse_lost_rows(group: Group, log: Log, checkpoints: Checkpoints, step: int) -> None:
    """DamagedFileError when the metrics up to a checkpoint are not those that were there when it was saved."""
    if checkpoints.rows_at(step) in (None, log.digest_up_to(step)):
        return
    whole = [s for s in checkpoints.steps() if s < step and checkpoints.rows_at(s) == log.digest_up_to(s)]
    way_out = f"move {group.directory} away to train it again"
    if whole:
        way_out = f"move {checkpoints.at(step)} away and run the same command again, to go on from step {whole[-1]}"
    raise DamagedFileError(log.path, log.problem(), f"restore it, or {way_out}")
