"""The two forms of what the optimizer sees, and so of its moments: one vector, or the tree of parameters.

A replica on one device has the vector: a program with one update instead of one per array compiles in two thirds of the
time. A replica that lies on several has the tree, whose matrices are split over them (`sharding`).
"""

from typing import Any

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from posenc_jax.encodings.base import Params
from posenc_jax.training.precision import in_float32


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
