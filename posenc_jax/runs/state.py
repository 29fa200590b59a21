"""States of the groups of finished runs, and the replicas in them."""

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run
from posenc_jax.data.errors import DataError
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full
from posenc_jax.huggingface.safetensors import read_header
from posenc_jax.runs.checkpoint import Checkpoints, digest
from posenc_jax.runs.directory import (
    IMPORTED,
    Group,
    finished_groups,
    finished_in,
    groups_of,
    load_config,
    read_stored,
    run_in,
)
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import Log
from posenc_jax.training.leaf_names import filled, flat
from posenc_jax.training.optimizer import measured, optimized, rearranged, transformation
from posenc_jax.training.step import init_params, init_state


def abstract_state(config: Run, group_size: int) -> Any:
    """Shapes and dtypes of a group's state, ``[group_size, ...]``."""
    state = jax.eval_shape(lambda: init_state(config, init_params(config, 0), 0, 0.0))
    return _of_group(state, group_size)


def _of_group(state: Any, group_size: int) -> Any:
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((group_size, *leaf.shape), leaf.dtype), state)


def restore(
    config: Run,
    group_size: int,
    checkpoints: Checkpoints,
    *,
    set_aside: bool,
    misfit: Callable[[int, Any], str] = lambda step, state: "",
    only: int | None = None,
) -> tuple[int, Any] | None:
    """Restores the state by `Checkpoints.restore`, also if it was saved on more or fewer devices."""
    like, split = abstract_state(config, group_size), config.execution.split
    params = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), like["params"])
    other = jax.eval_shape(lambda p: transformation(config.optimizer).init(optimized(p, split=not split)), params)

    def arranged(state: Any) -> Any:
        return {**state, "opt": rearranged(state["opt"], like["opt"], split=split)}

    also = ({**like, "opt": _of_group(other, group_size)}, arranged)
    return checkpoints.restore(like, set_aside=set_aside, misfit=misfit, also=also, only=only)


def misfit(group: Group, step: int, state: Any) -> str:
    """Why a state is not one of this group at this step, or ""."""
    if not (np.asarray(state["step"]) == step).all():
        return f"its state is of step {int(state['step'][0])}"
    for name, wanted in zip(("seed", "learning_rate"), zip(*group.filled, strict=True), strict=True):
        if not np.array_equal(state[name], np.asarray(wanted, state[name].dtype)):
            return f"its state is of {name.replace('_', ' ')}s {', '.join(f'{value:g}' for value in state[name])}"
    return ""


def load_group_state(
    config: Run, directory: Path, note: Callable[[str], None] = lambda text: None
) -> tuple[Group, Any]:
    """A finished group (its directory) and the state that its result was measured with, as host arrays.

    Only reads. RefusedError when the group is not finished, or the state is not the one that its result is of.
    """
    ((group, result),) = finished_in(read_stored(directory))
    return group, final_state(config, group, result, note)


def final_state(config: Run, group: Group, result: Json, note: Callable[[str], None]) -> Any:
    """The state that a group's result was measured with; otherwise like `load_group_state`."""
    directory = group.directory
    refuse_no_checkpoint(directory)
    if (directory / IMPORTED).exists():
        stored, state = directory / IMPORTED, _imported(config, group)
    else:
        checkpoints = Checkpoints(directory / "checkpoints", note)
        restored = restore(config, group.size, checkpoints, set_aside=False)
        assert restored is not None
        stored, state = checkpoints.at(restored[0]), measured(config.training, restored[1])
    for index, replica in enumerate(result["replicas"]):
        params = jax.tree.map(lambda leaf, i=index: leaf[i], state["params"])
        if digest(params) != replica["parameters_sha256"]:
            raise RefusedError(
                f"{stored} is not what {directory / 'result.json'} was measured with: "
                f"restore it, or move {directory} away and run the same command again to make it anew"
            )
    return state


def _imported(config: Run, group: Group) -> Any:
    """The state of an imported run, with what measuring reads of one."""
    path = group.directory / IMPORTED
    like = jax.eval_shape(lambda: init_params(config, 0))
    try:
        tensors, _ = read_header(path)
        if {name: stored.shape for name, stored in tensors.items()} != {n: x.shape for n, x in flat(like).items()}:
            raise DataError(f"{path} is of another model than {group.directory / 'config.json'}: restore one of them")
        params = filled(like, {name: stored.read()[None] for name, stored in tensors.items()})
    except DataError as error:
        raise RefusedError(str(error)) from None
    return {"params": params, "seed": np.zeros(1, np.int32), "diverged_at": np.full(1, -1, np.int32)}


def refuse_no_checkpoint(group: Path) -> None:
    """RefusedError for a group's directory without any checkpoint."""
    if not (group / IMPORTED).is_file() and not Checkpoints(group / "checkpoints", lambda text: None).steps():
        raise RefusedError(f"{group} has no checkpoint: restore it from where the run was made")


def state_at(config: Run, group: Group, step: int, note: Callable[[str], None] = lambda text: None) -> Any:
    """The state of a group after ``step`` updates, as host arrays, if that was kept.

    Only reads. RefusedError when the group has no checkpoint of that step, or one of another training.
    """
    directory = group.directory
    checkpoints = Checkpoints(directory / "checkpoints", note)
    if step not in checkpoints.steps():
        there = ", ".join(map(str, checkpoints.steps()))
        raise RefusedError(
            f"{directory} has no checkpoint of step {step}, but of {there}: choose among them, or train with "
            "training.checkpoint_every and training.keep_every, which keep more"
        )
    fits = functools.partial(misfit, group)
    restored = restore(config, group.size, checkpoints, set_aside=False, misfit=fits, only=step)
    assert restored is not None
    log = Log(directory / "metrics.jsonl")
    if log.path.exists() and checkpoints.rows_at(step) not in (None, log.digest_up_to(step)):
        raise RefusedError(
            f"{checkpoints.at(step)} is not of the training that {log.path} tells of: restore the one or the other"
        )
    return restored[1]


def replica_params(source: Path, seed: int, note: Callable[[str], None]) -> Any:
    """Final parameters of one seed of a finished run (of its best learning rate by validation, if it tried several)."""
    directory, index = best_replica(source, seed)
    _, state = load_group_state(load_config(full(source).absolute()), directory, note)
    return jax.tree.map(lambda leaf: leaf[index], state["params"])


def best_replica(source: Path, seed: int) -> tuple[Path, int]:
    """The group and the index in it of the replica with this seed that is best by validation."""
    source = full(source).absolute()
    stored = read_stored(source)
    config = run_in(stored)
    groups_of(stored, config)
    best: tuple[tuple[float, float], Path, int] | None = None
    for group, result in finished_in(stored):
        for index, replica in enumerate(result["replicas"]):
            found = (replica["validation"][config.task.validation_metric], replica["validation"].get("loss"))
            score = -math.inf if found[0] is None else found[0], -math.inf if found[1] is None else -found[1]
            if replica["seed"] == seed and replica["diverged_at"] is None and (best is None or score > best[0]):
                best = (score, group.directory, index)
    if best is None:
        raise RefusedError(
            f"{source} has no finished replica of seed {seed} that did not diverge; it was run with seeds "
            f"{config.seeds}"
        )
    return best[1:]


def surviving_seeds(source: Path) -> set[int]:
    """The seeds of a finished run of which a replica did not diverge."""
    replicas = (replica for result in finished_groups(source).values() for replica in result["replicas"])
    return {replica["seed"] for replica in replicas if replica["diverged_at"] is None}


def seed_of(config: Run, source: Path, seed: int | None) -> int:
    """The seed that is asked for, or the first of a finished run that did not diverge; RefusedError where all did."""
    alive = surviving_seeds(source)
    found = next((own for own in config.seeds if own in alive), None) if seed is None else seed
    if found is None:
        raise RefusedError(f"every replica of {source} diverged: train it with a smaller learning rate")
    return found


def count_parameters(tree: Any) -> int:
    """The number of elements of a tree's arrays."""
    return sum(int(np.size(leaf)) for leaf in jax.tree.leaves(tree))
