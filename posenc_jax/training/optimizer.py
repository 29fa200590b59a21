"""The optimizer: AdamW whose schedule peaks at 1, so that a learning rate is data and not part of the program."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from posenc_jax.config import Optimizer, Training
from posenc_jax.encodings.interface.base import Array, Params, PositionalEncoding
from posenc_jax.encodings.interface.slots import elements
from posenc_jax.models.config import Slots
from posenc_jax.training.leaf_names import names
from posenc_jax.training.precision import in_float32


def schedule(config: Optimizer, steps: int) -> optax.Schedule:
    """The factor of the learning rate at update t = 0 .. ``steps - 1``, 1 at its peak p::

        (t + 1) / w                                            t < w    with w = warmup_steps: w rising steps
        1 - (1 - f) x                                          linear   with x = (t - p) / (steps - 1 - p)
        f + (1 - f) (1 + cos(pi x)) / 2                        cosine   and f = final_fraction
        sqrt(w / (t + 1))                                      inverse_sqrt (Vaswani et al. 2017, section 5.3)

    p is the last step of the warm-up, w - 1, or 0 without one; the last step has ``final_fraction`` exactly, unless it
    is the peak itself. The first update of a warm-up has 1/w: at rate 0 a step would be lost.
    """
    warmup, peak = config.warmup_steps, max(config.warmup_steps - 1, 0)
    rest = max(steps - 1 - peak, 1)
    decay: optax.Schedule
    if config.schedule == "constant":
        decay = optax.constant_schedule(1.0)
    elif config.schedule == "linear":
        decay = optax.linear_schedule(1.0, config.final_fraction, rest)
    elif config.schedule == "cosine":
        decay = optax.cosine_decay_schedule(1.0, rest, alpha=config.final_fraction)
    else:
        decay = lambda count: jnp.sqrt(warmup / jnp.maximum(count + warmup, 1))  # noqa: E731
    # Both begin at a count of 0, the decay at the peak.
    return optax.join_schedules([lambda count: (count + 1) / warmup, decay], [peak]) if peak else decay


def transformation(config: Optimizer) -> optax.GradientTransformation:
    """Clip by global norm, then Adam's direction. `updated` applies it."""
    mu_dtype = None if config.mu_dtype == "float32" else jnp.bfloat16
    adam = optax.scale_by_adam(config.b1, config.b2, config.eps, mu_dtype=mu_dtype)
    return adam if config.clip_norm is None else optax.chain(optax.clip_by_global_norm(config.clip_norm), adam)


def updated(config: Optimizer, params: Any, direction: Any, rate: jax.Array) -> Any:
    """``params - rate (direction + weight_decay params)``: decoupled decay (Loshchilov & Hutter 2019), of matrices
    that are not an encoding's own only. Computed in the dtype of ``direction``, rounded to that of the parameters.
    """

    def update(path: tuple[Any, ...], p: jax.Array, d: jax.Array) -> jax.Array:
        decay = config.weight_decay if decays(path, p) else 0.0
        new = p - rate * (d + decay * p) if decay else p - rate * d
        return new.astype(p.dtype)

    return jax.tree_util.tree_map_with_path(update, params, direction)


def decays(path: tuple[Any, ...], leaf: Array) -> bool:
    """True for matrices that are not the encodings' own: biases, slopes, norms and positional tables get no weight
    decay.
    """
    return names(path)[0] != "posenc" and leaf.ndim >= 2


def trainable(params: Any, slots: Slots) -> Any:
    """A pytree of bools like ``params``: False for what an encoding names in ``frozen``."""

    def is_trained(path: tuple[Any, ...], leaf: Array) -> bool:
        way = names(path)
        if way[0] != "posenc":
            return True
        stack, index = way[1], int(way[2])
        element: PositionalEncoding = elements(getattr(slots, stack))[index]
        return not element.frozen.intersection(way[3:])

    return jax.tree_util.tree_map_with_path(is_trained, params)


def optimized(tree: Params, *, split: bool) -> Any:
    """Parameters or gradients as the optimizer sees them, in at least float32."""
    return in_float32(tree) if split else ravel_pytree(in_float32(tree))[0]


def as_tree(params: Params, direction: Any, *, split: bool) -> Params:
    """The inverse of `optimized`, in the structure of ``params``, in at least float32."""
    tree: Params = direction if split else ravel_pytree(in_float32(params))[1](direction)
    return tree


def rearranged(opt: Any, like: Any, *, split: bool) -> Any:
    """A group's optimizer state ``[R, ...]`` of host arrays in its other form, that of ``like`` (``split``: the tree),
    to the bit.
    """
    if split:
        return jax.tree.map(_parts, opt, like)
    return jax.tree.map(lambda leaf, tree: _vector(tree), like, opt)


def _parts(vector: np.ndarray, like: Any) -> Any:
    leaves, structure = jax.tree.flatten(like)
    if jax.tree_util.treedef_is_leaf(structure):
        return vector
    sizes = [int(np.prod(leaf.shape[1:])) for leaf in leaves]
    parts = np.split(vector, np.cumsum(sizes)[:-1], axis=1)
    return jax.tree.unflatten(structure, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)])


def _vector(tree: Any) -> np.ndarray:
    leaves, structure = jax.tree.flatten(tree)
    if jax.tree_util.treedef_is_leaf(structure):
        whole: np.ndarray = leaves[0]
        return whole
    return np.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=1)


def averages(training: Training) -> bool:
    """True if the state has an average of parameters."""
    return training.averaged_checkpoints > 1


def averaged(training: Training, average: Params, params: Params, step: Array) -> Params:
    """The average after ``step`` updates: at checkpoint number k of those that count ::

        average_k = average_(k-1) + (params - average_(k-1)) / k

    and what it was in between. So parameters that are not trained stay what they are, to the bit.
    """
    every = training.checkpoint_every
    first = training.steps - (training.averaged_checkpoints - 1) * every
    counts = (step >= first) & ((step - first) % every == 0)
    number = (step - first) // every + 1
    new: Params = jax.tree.map(lambda a, p: jnp.where(counts, a + (p - a) / number, a), average, params)
    return new


def measured(training: Training, state: Any) -> Any:
    """A finished group's state ``[R, ...]``, as host arrays, with the parameters that are measured: of replicas that
    did not diverge the average.
    """
    if not averages(training):
        return state
    alive = np.asarray(state["diverged_at"]) < 0

    def chosen(average: Array, params: Array) -> np.ndarray:
        return np.where(alive.reshape(-1, *(1,) * (np.ndim(params) - 1)), average, params)

    return {**state, "params": jax.tree.map(chosen, state["average"], state["params"])}
