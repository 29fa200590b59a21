"""Contents of a run's directory: its config and code, its groups, its results.

``config.json`` is written first and refuses other configs; a group's has its replicas too. ``result.json`` is written
last. All carry checksums.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from posenc_jax.config import Ablation, Run, UnknownTypeError, difference, from_json, identity, to_json
from posenc_jax.files.shapes import Json, problem
from posenc_jax.runs import own_code
from posenc_jax.runs.errors import DamagedFileError, RefusedError
from posenc_jax.runs.files import numbered, read_json

FORMAT = 4
"""Of ``config.json``; no other is read."""

IMPORTED = "weights.safetensors"
"""In the group of an imported run, instead of checkpoints."""

Replica = tuple[int, float]
"""Seed and learning rate."""

GROUP_NAME = re.compile(r"group-(\d{3,})")


def is_group(directory: Path) -> bool:
    """True if a directory is that of a group, by its name."""
    return GROUP_NAME.fullmatch(directory.name) is not None


def home_of(directory: Path) -> Path:
    """The directory of the run that a group is of, or itself."""
    return directory.parent if is_group(directory) else directory


@dataclasses.dataclass(frozen=True)
class Group:
    """Replicas that train together, and where. ``size`` counts the spares that fill it, ``config_hash`` is that of its
    run.
    """

    directory: Path
    replicas: tuple[Replica, ...]
    size: int
    config_hash: str

    @property
    def filled(self) -> tuple[Replica, ...]:
        """The replicas, the last repeated until the group is full."""
        return self.replicas + (self.replicas[-1],) * (self.size - len(self.replicas))


@dataclasses.dataclass(frozen=True)
class Stored:
    """The config files in the directory of a run, a group or an ablation, each read and checked once.

    Attributes:
      config: the content of its ``config.json``; None where it has none.
      groups: the same of the groups of a run.
    """

    directory: Path
    config: Json | None
    groups: tuple[Stored, ...] = ()

    @property
    def path(self) -> Path:
        """Its ``config.json``."""
        return self.directory / "config.json"

    @property
    def code(self) -> own_code.Digests:
        """The digests of the user's classes in its config."""
        code: own_code.Digests = {} if self.config is None else self.config["code"]
        return code


def read_stored(directory: Path) -> Stored:
    """The config files of a directory, which need not be there."""
    groups = tuple(read_stored(group) for group in group_directories(directory) if group != directory)
    return dataclasses.replace(_alone(directory), groups=groups)


def group_directories(directory: Path) -> list[Path]:
    """The groups of a run's directory, in order; a group's directory is its own only one.

    Only ``group-NNN``: one that was renamed, as ``group-000.old``, is none. Nor is an empty one: its maker was killed.
    """
    found = [path for path in directory.glob("group-*") if is_group(path) and any(path.glob("*.json"))]
    return sorted(found, key=number_of) or [directory]


def number_of(group: Path) -> int:
    """The number in the name of a group."""
    return int(group.name[6:])


def groups_with(directory: Path, replicas: Collection[Replica]) -> list[Group]:
    """The groups of a run's directory, which need not be there, that have one of the replicas."""
    found = [_group(stored) for stored in read_stored(directory).groups]
    return [group for group in found if not set(replicas).isdisjoint(group.replicas)]


def results(directory: Path, config: Run | None = None) -> list[Json]:
    """The finished groups' results, in order; only those with a replica of ``config`` if given, and then
    RefusedError where a group is of another config.
    """
    return [result for _, result in results_by_group(read_stored(directory), config)]


def results_by_group(stored: Stored, config: Run | None = None) -> list[tuple[Path, Json]]:
    """Pairs of a group's directory and its result; otherwise like `results`."""
    found, asked = [], set() if config is None else set(config.replicas)
    if config is not None:
        groups_of(stored, config)
    for inner in stored.groups:
        if (inner.directory / "result.json").exists():
            result = result_of(_group(inner))
            if config is None or not asked.isdisjoint(replicas_of(result)):
                found.append((inner.directory, result))
    return found


def finished(directory: Path) -> Json:
    """The result of a group; RefusedError when it has none yet, is damaged, or is of another config or replicas."""
    return _finished(read_stored(directory))[1]


def _finished(stored: Stored) -> tuple[Group, Json]:
    if not (stored.directory / "result.json").exists():
        raise RefusedError(f"{stored.directory} is not finished: run it to the end first")
    group = _group(stored)
    return group, result_of(group)


def finished_groups(directory: Path) -> dict[Path, Json]:
    """The groups of a run's directory, or the one that it is, with their results; otherwise like `finished_in`."""
    return {group.directory: result for group, result in finished_in(read_stored(directory))}


def finished_in(stored: Stored) -> list[tuple[Group, Json]]:
    """The groups in a run's directory, or the one that it is, with their results.

    Raises:
      RefusedError: one that the run asks for has none, or a result is damaged.
    """
    return [_finished(inner) for inner in counting(stored)]


def groups_that_count(directory: Path) -> list[Path]:
    """The directories of `counting`."""
    return [inner.directory for inner in counting(read_stored(directory))]


def counting(stored: Stored) -> list[Stored]:
    """The groups in a run's directory that have a result, or a replica that the run asks for: a call for more seeds,
    stopped, leaves others behind. The directory of a group is its own.
    """
    if not stored.groups or stored.config is None:
        return list(stored.groups) or [stored]
    config = stored.config["config"]
    asked = {(seed, rate) for seed in config["seeds"] for rate in config["learning_rates"]}
    return [
        inner
        for inner in stored.groups
        if (inner.directory / "result.json").exists() or asked.intersection(_group(inner).replicas)
    ] or list(stored.groups)


def result_of(group: Group) -> Json:
    """The ``result.json`` of a finished group; otherwise like `finished`."""
    path = group.directory / "result.json"
    again = (
        f"restore it, or move it away and run the same command again, which measures {group.directory.name} again from "
        "its last checkpoint"
    )
    result = read_json(path, again)
    if wrong := problem(result, _RESULT):
        raise DamagedFileError(path, wrong, again)
    replicas, hashed = replicas_of(result), result["config_hash"]
    away = f"restore one of them, or move {group.directory} away to train it again"
    record = group.directory / "config.json"
    if replicas != group.replicas:
        raise RefusedError(
            f"{path} is of other replicas ({listed(replicas)}) than {record} has ({listed(group.replicas)}): {away}"
        )
    if hashed != group.config_hash:
        raise RefusedError(f"{path} is of config {hashed}, and {record} of {group.config_hash}: {away}")
    return result


_RESULT = {
    **dict.fromkeys(("posenc", "mode", "device_kind", "label", "table", "config_hash", "metrics_sha256"), str),
    **dict.fromkeys(("num_parameters", "num_posenc_parameters", "group_size", "device_count", "threads"), int),
    "bit_exact": bool,
    "replicas": [
        {
            "seed": int,
            "learning_rate": float,
            "diverged_at?": int,
            "validation": {str: (float, type(None), list)},  # a classifier's has its confusions
            "evaluation": [{"length": int}],
            "parameters_sha256": str,
        }
    ],
}


def checkpoint_steps(group: Path) -> list[int]:
    """The steps of which a group has a checkpoint, ascending; whether they are whole, only reading them tells."""
    return numbered(group / "checkpoints")


def replicas_of(result: Json) -> tuple[Replica, ...]:
    """Seed and learning rate of each replica of a ``result.json``."""
    return tuple((replica["seed"], replica["learning_rate"]) for replica in result["replicas"])


def complete(directory: Path, config: Run) -> bool:
    """True when every replica of ``config`` has a result."""
    return has_all(results(directory, config), config)


def has_all(found: list[Json], config: Run) -> bool:
    """True if these results have every replica of ``config``."""
    done = {replica for result in found for replica in replicas_of(result)}
    return done.issuperset(config.replicas)


def differences_from(there: Stored, config: Run | Ablation) -> list[str]:
    """The fields in which the config of a directory, if it has one, and a config differ.

    Raises:
      RefusedError: this version cannot read it, or it is a config of the other kind.
    """
    if there.config is None or there.config["config"] == to_json(config):  # which spares making values for every cell
        return []
    stored = stored_config(there, own_code.own_classes(config))
    if type(stored) is not type(config):
        kinds = {"Run": "a single run", "Ablation": "an ablation"}
        raise RefusedError(
            f"{there.directory} holds {kinds[type(stored).__name__]}, not {kinds[type(config).__name__]}: choose "
            "another directory"
        )
    if isinstance(stored, Run) or isinstance(config, Run):
        return difference(identity(to_json(stored)), identity(to_json(config)))
    cells = {(cell.table, cell.label): cell for cell in stored.runs}
    lines = difference(stored.name, config.name, "name")
    for cell in config.runs:  # cells may be added or left out
        before = cells.get((cell.table, cell.label))
        if before is not None:
            lines += difference(identity(to_json(before)), identity(to_json(cell)), f"[{cell.table} {cell.label}]")
    return lines


def groups_of(stored: Stored, config: Run) -> list[Group]:
    """The groups in a run's directory; RefusedError when one is of another config, or two have the same replica."""
    groups = []
    taken: set[Replica] = set()
    for inner in stored.groups:
        if inner.config is None:
            continue
        if lines := differences_from(inner, config):
            raise RefusedError(
                f"{inner.directory} belongs to another config; choose another directory, or move it away. "
                "Differences:\n  " + "\n  ".join(lines)
            )
        group = _group(inner)
        if twice := taken.intersection(group.replicas):
            raise RefusedError(
                f"{group.directory} has replicas that another group of {stored.directory} has too "
                f"({listed(tuple(twice))}): move one of them away"
            )
        taken.update(group.replicas)
        groups.append(group)
    return groups


def load_config(directory: Path) -> Run:
    """The config of a run's or a group's directory, with the user's own classes from the copy that the run keeps."""
    return run_in(_alone(directory))


def run_in(stored: Stored, *, own: Mapping[str, type] | None = None) -> Run:
    """`load_config` of a directory that is read."""
    config = stored_config(stored, own)
    if not isinstance(config, Run):
        raise RefusedError(
            f"{stored.directory} is no run: it holds an ablation, each of whose cells is a directory in it"
        )
    return config


def load_stored(directory: Path) -> Run | Ablation:
    """The config of the directory of a run or an ablation."""
    return stored_config(_alone(directory))


def _alone(directory: Path) -> Stored:
    path = directory / "config.json"
    return Stored(directory, checked(path) if path.exists() else None)


def stored_config(stored: Stored, own: Mapping[str, type] | None = None) -> Run | Ablation:
    """`load_stored` of a directory that is read. ``own``: the user's classes, if not those of the copy."""
    if stored.config is None:
        raise RefusedError(f"{stored.directory} is no run: it has no config.json")
    if own is None:
        own = own_code.load(home_of(stored.directory), stored.code)
    try:
        config = from_json(stored.config["config"], own)
        if not isinstance(config, Run | Ablation):
            raise ValueError(f"it holds {type(config).__name__}, neither a run nor an ablation")
    except UnknownTypeError as error:
        raise RefusedError(f"{stored.path}: {error}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise RefusedError(f"{stored.path} cannot be read as a config: {error}") from None
    return config


def read_group(directory: Path) -> Group:
    """The group in a directory, whatever its config; RefusedError when there is none."""
    return _group(read_stored(directory))


def _group(stored: Stored) -> Group:
    directory, path, data = stored.directory, stored.path, stored.config
    if data is None:
        raise RefusedError(f"{directory} has no config.json, so it is no whole group: copy it again, or move it away")
    try:
        if wrong := problem(data, {"replicas": [[float]], "group_size": int, "config_hash": str}):
            raise ValueError(wrong)
        replicas = tuple((int(seed), float(rate)) for seed, rate in data["replicas"])
        return Group(directory, replicas, int(data["group_size"]), data["config_hash"])
    except (ValueError, OverflowError) as error:
        raise RefusedError(f"{path} is no group's ({error}): restore it") from None


def checked(path: Path) -> Json:
    """A ``config.json`` whose checksum and format are those that this version reads; RefusedError otherwise."""
    way_out = "restore it, or move it away and run the same command again, which writes it anew"
    if is_group(path.parent):
        way_out = f"restore it, or move {path.parent} away to train its replicas again"
    elif any(path.parent.glob("model*.safetensors")):
        way_out = "`posenc weights import` makes a run of a checkpoint of others"
    data = read_json(path, way_out)
    if data.get("format") != FORMAT:
        raise RefusedError(
            f"{path} is of format {data.get('format')}, and this version reads format {FORMAT} alone: choose another "
            "directory to run it again, or use the version that wrote it"
        )
    if wrong := problem(data, {"config": {}, "code": {str: str}}):
        raise DamagedFileError(path, wrong, way_out)
    return data


def listed(replicas: tuple[Replica, ...]) -> str:
    """``seed 0 at 0.001, seed 1 at 0.001``."""
    return ", ".join(f"seed {seed} at {rate:g}" for seed, rate in replicas)
