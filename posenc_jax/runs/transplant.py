"""Surgery on finished runs: start from their parameters, or put other encodings into them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run, from_json
from posenc_jax.encodings import Slot, elements
from posenc_jax.models.config import Slots
from posenc_jax.runs.cell import load_group_state
from posenc_jax.runs.directory import RefusedError, group_directories, load_config, read_json
from posenc_jax.runs.weights import load_weights
from posenc_jax.training.sharding import path_string


def transplant(params: Any, config: Run, source: Path, seed: int, note: Callable[[str], None]) -> Any:
    """The parameters of a finished run, or those in a file of `runs.weights`, in the place of ``params`` (one replica's
    of ``config``, no replica axis). A file serves every seed.

    Everything but the encodings must be there with the same shape. An encoding's parameters are those of its `partners`
    in the source where name and shape fit, and stay as they are otherwise (that is noted): so an encoding can be added,
    dropped or changed.

    Raises:
      RefusedError: the source is no finished run, has no replica of ``seed``, or is another model.
    """
    trained, old_slots = _trained(source.expanduser().absolute(), seed, note)
    arranged = {
        stack: tuple(
            None if partner is None else trained["posenc"][stack][partner]
            for partner in partners(getattr(old_slots, stack), getattr(config.slots, stack))
        )
        for stack in params["posenc"]
    }
    old = {
        path_string(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path({**trained, "posenc": arranged})
    }
    kept = []

    def take(path: tuple, leaf: Any) -> Any:
        name = path_string(path)
        found = old.get(name)
        if found is not None and found.shape == np.shape(leaf):
            return found
        if name.startswith("/posenc/"):
            kept.append(name[1:])
            return leaf
        there = "absent" if found is None else f"{list(found.shape)}"
        raise RefusedError(
            f"init_from = {source}: parameter {name[1:]} is {there} there and {list(np.shape(leaf))} here; use the "
            "same model and task sizes"
        )

    taken = jax.tree_util.tree_map_with_path(take, params)
    if kept:
        note(f"init_from {source}: not there, so freshly initialised: {', '.join(kept)}")
    return taken


def _trained(source: Path, seed: int, note: Callable[[str], None]) -> tuple[Any, Slots]:
    """The parameters of a source and the slots that its encodings stood in."""
    if source.is_file():
        params, metadata = load_weights(source, note=note)
        return params, from_json(metadata["slots"])
    return replica_params(source, seed, note), load_config(source).slots


def partners(old: Slot, new: Slot) -> tuple[int | None, ...]:
    """For each of ``elements(new)`` the number of its counterpart among ``elements(old)``, or None.

    Equal encodings first, then those of the same class in order of appearance; no encoding serves twice.
    """
    before, after = list(enumerate(elements(old))), elements(new)
    found: dict[int, int] = {}
    for fits in (lambda a, b: a == b, lambda a, b: type(a) is type(b)):
        for index, element in enumerate(after):
            match = next((pair for pair in before if index not in found and fits(pair[1], element)), None)
            if match is not None:
                found[index] = match[0]
                before.remove(match)
    return tuple(found.get(index) for index in range(len(after)))


def replica_params(source: Path, seed: int, note: Callable[[str], None]) -> Any:
    """Final parameters of one seed of a finished run (of its best learning rate by validation, if it tried several)."""
    directory, index = best_replica(source, seed)
    _, state = load_group_state(load_config(source.expanduser().absolute()), directory, note)
    return jax.tree.map(lambda leaf: leaf[index], state["params"])


def best_replica(source: Path, seed: int) -> tuple[Path, int]:
    """The group and the place in it of the replica with this seed that is best by validation."""
    source = source.expanduser().absolute()
    config = load_config(source)
    best: tuple[float, Path, int] | None = None
    for directory in group_directories(source):
        result = finished(directory)
        for index, replica in enumerate(result["replicas"]):
            score = replica["validation"][config.task.validation_metric]
            if replica["seed"] == seed and replica["diverged_at"] is None and (best is None or score > best[0]):
                best = (score, directory, index)
    if best is None:
        raise RefusedError(
            f"{source} has no finished replica of seed {seed} that did not diverge; it was run with seeds "
            f"{config.seeds}"
        )
    return best[1:]


def surviving_seeds(source: Path) -> set[int]:
    """The seeds of a finished run of which a replica did not diverge."""
    replicas = (replica for directory in group_directories(source) for replica in finished(directory)["replicas"])
    return {replica["seed"] for replica in replicas if replica["diverged_at"] is None}


def finished(directory: Path) -> dict:
    """The result of a group; RefusedError when it has none yet."""
    path = directory / "result.json"
    if not path.exists():
        raise RefusedError(f"{directory} is not finished: run it to the end first")
    return read_json(path)
