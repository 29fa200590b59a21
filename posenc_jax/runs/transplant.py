"""Parameters of one run for another run, and the matching of their encodings' parameters."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run
from posenc_jax.encodings import Slot, elements
from posenc_jax.files.user_paths import full
from posenc_jax.models.config import Slots
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.own_code import own_classes
from posenc_jax.runs.state import best_replica, refuse_no_checkpoint, replica_params
from posenc_jax.runs.weights import describe, load_weights
from posenc_jax.training.leaf_names import names
from posenc_jax.training.step import init_encodings_of, init_params


def transplant(config: Run, source: Path, seed: int, note: Callable[[str], None]) -> Any:
    """The parameters of one replica of ``config`` (no replica axis) that starts from a finished run, or from a file of
    `runs.weights`, which serves every seed; on the host, but for what is drawn.

    Everything but the encodings must be there with the same shape. An encoding's parameters are those of its `partners`
    in the source where name and shape fit, and are drawn otherwise (that is noted): so an encoding can be added,
    dropped or changed.

    Raises:
      RefusedError: the source is no finished run, has no replica of ``seed``, or is another model.
    """
    source = full(source).absolute()
    if source.is_file():
        trained, old_slots = _in_file(source, config, note)
    else:
        trained, old_slots = replica_params(source, seed, note), load_config(source).slots
    params = {**_shapes(config), "posenc": init_encodings_of(config, seed)}
    return _taken(params, config, source, trained, old_slots, note)


def check_start(config: Run, source: Path) -> None:
    """`transplant` of shapes alone: RefusedError for what it would refuse, and for a replica without a checkpoint,
    before anything is computed.
    """
    source = full(source).absolute()
    if source.is_file():
        trained, old_slots = _in_file(source, config, lambda text: None)
    else:
        old = load_config(source)
        trained, old_slots = _shapes(old), old.slots
        for seed in config.seeds:
            refuse_no_checkpoint(best_replica(source, seed)[0])
    check = lambda params: _taken(params, config, source, trained, old_slots, lambda text: None)  # noqa: E731
    jax.eval_shape(check, _shapes(config))


def _shapes(config: Run) -> Any:
    return jax.eval_shape(functools.partial(init_params, config, 0))


def _taken(params: Any, config: Run, source: Path, trained: Any, old_slots: Slots, note: Callable[[str], None]) -> Any:
    arranged = {
        stack: tuple(
            None if partner is None else trained["posenc"][stack][partner]
            for partner in partners(getattr(old_slots, stack), getattr(config.slots, stack))
        )
        for stack in params["posenc"]
    }
    old = {
        "/".join(names(path)): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path({**trained, "posenc": arranged})
    }
    kept = []

    def take(path: tuple[Any, ...], leaf: Any) -> Any:
        name = "/".join(names(path))
        found = old.get(name)
        if found is not None and found.shape == np.shape(leaf):
            # Of this model, whatever the other one was kept in. One of two shapes alone has no values.
            return found.astype(leaf.dtype) if hasattr(found, "astype") else leaf
        if name.startswith("posenc/"):
            kept.append(name)
            return leaf
        there = "absent" if found is None else f"{list(found.shape)}"
        raise RefusedError(
            f"init_from = {source}: parameter {name} is {there} there and {list(np.shape(leaf))} here; use the "
            "same model and task sizes"
        )

    taken = jax.tree_util.tree_map_with_path(take, params)
    if kept:
        note(f"init_from {source}: not there, so freshly initialised: {', '.join(kept)}")
    return taken


def _in_file(source: Path, config: Run, note: Callable[[str], None]) -> tuple[Any, Slots]:
    """The parameters of a file of weights and the slots that its encodings stood in."""
    own = tuple(own_classes(config).values())
    params, metadata = load_weights(source, own=own, note=note)
    return params, describe(source, metadata, own).slots


def partners(old: Slot, new: Slot) -> tuple[int | None, ...]:
    """The number, for each of ``elements(new)``, of its counterpart among ``elements(old)``, or None.

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
