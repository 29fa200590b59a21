"""Which way to compute a call of attention: a pure function of encodings, dtype, backend and sizes."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.attention import Prepared
from posenc_jax.encodings.base import Geometry, PositionalEncoding, at_least_float32

Path = Literal["dense", "blockwise"]
Asked = Literal["auto", "dense", "blockwise"]

# More logits than this (256 MiB in float32) are not held as one array where nobody asks for it.
MANY = 2**26


@dataclasses.dataclass(frozen=True)
class Call:
    """What the choice depends on, beside the encodings: one call of attention, told from shapes alone.

    Attributes:
      queries, keys: Q and K. head_dim: D, as projected. dtype: of queries and keys. backend: "cpu", "gpu" or "tpu".
      causal, window, contiguous: as in `Geometry`. segments: whether there are segment ids.
      ordered: the places of both sides are known when the program is built, are those of all rows, and grow by one.
      return_weights: the weights are wanted.
    """

    batch: int
    num_heads: int
    num_kv_heads: int
    queries: int
    keys: int
    head_dim: int
    dtype: Any = jnp.float32
    backend: str = "cpu"
    causal: bool = False
    window: int | None = None
    segments: bool = False
    contiguous: bool = True
    ordered: bool = True
    return_weights: bool = False

    @classmethod
    def of(cls, call: Prepared, *, return_weights: bool = False) -> Call:
        """That of prepared arguments, on the default backend."""
        batch, num_heads, queries, head_dim = call.q.shape
        return cls(
            batch=batch,
            num_heads=num_heads,
            num_kv_heads=call.k.shape[1],
            queries=queries,
            keys=call.k.shape[2],
            head_dim=head_dim,
            dtype=jnp.result_type(call.q, call.k),
            return_weights=return_weights,
            **facts(call.geometry),
        )

    @property
    def logits(self) -> int:
        """How many there are."""
        return self.batch * self.num_heads * self.queries * self.keys


def facts(geometry: Geometry) -> dict[str, Any]:
    """Those fields of a `Call` that its geometry and the default backend decide."""
    return {
        "backend": jax.default_backend(),
        "causal": geometry.causal,
        "window": geometry.window,
        "segments": geometry.k_segments is not None,
        "contiguous": geometry.contiguous,
        "ordered": _grows_by_one(geometry.q_places) and _grows_by_one(geometry.k_places),
    }


def _grows_by_one(places: Any) -> bool:
    return isinstance(places, np.ndarray) and len(places) == 1 and bool((np.diff(places) == 1).all())


@dataclasses.dataclass(frozen=True)
class Choice:
    """A way to compute attention, and why: ``print(choice)`` gives both.

    Attributes:
      path: "dense", the reference: logits and weights as arrays, O(T^2) memory. "blockwise": some queries at a time,
        every hook, O(T) memory, the logits computed once more for the gradient.
      reason: in words.
    """

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def choose(encodings: tuple[PositionalEncoding, ...], call: Call, asked: Asked = "auto") -> Choice:
    """The way to compute one layer's attention; ``asked`` names one instead of "auto".

    Raises:
      ValueError: if a way is asked for that cannot serve this call, with the reason.
    """
    if call.return_weights:
        if asked not in ("auto", "dense"):
            raise ValueError(f"attention = {asked!r} keeps no weights to return: use 'dense'")
        return Choice("dense", "the weights are wanted as an array")
    if asked != "auto":
        return Choice(asked, "asked for")
    if call.backend == "cpu":
        return Choice("dense", "the fastest on a CPU")
    size = f"{call.logits * jnp.dtype(at_least_float32(call.dtype)).itemsize / 2**20:.0f} MiB of logits"
    if call.logits <= MANY:
        return Choice("dense", f"only {size}")
    return Choice("blockwise", size)
