"""The precision of a run's matrix products and sums."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

import jax

from posenc_jax.config import Run
from posenc_jax.encodings.interface.base import at_least_float32

_P = ParamSpec("_P")
_T = TypeVar("_T")


def at_precision(fn: Callable[Concatenate[Run, _P], _T]) -> Callable[Concatenate[Run, _P], _T]:
    """``fn(run, ...)`` with the matrix products that are traced in it, and in gradients taken in it, in the precision
    of the run's model, whatever JAX's own default is. Products that name theirs keep it. Types are promoted as JAX does
    by default: under ``jax_numpy_dtype_promotion=strict`` Flax and Optax would refuse their own sums.
    """

    @functools.wraps(fn)
    def wrapped(run: Run, /, *args: _P.args, **named: _P.kwargs) -> _T:
        with jax.default_matmul_precision(run.model.product_precision), jax.numpy_dtype_promotion("standard"):
            return fn(run, *args, **named)

    return wrapped


def in_float32(tree: Any) -> Any:
    """The arrays of a tree in at least float32."""
    return jax.tree.map(lambda leaf: leaf.astype(at_least_float32(leaf)), tree)
