"""Choice of the way to compute a call of attention: a pure function of encodings, dtype, backend and sizes."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.attention.blockwise import needs_all_keys
from posenc_jax.attention.cudnn import LARGEST_HEAD
from posenc_jax.attention.devices import HEADS, ROWS, devices_along, part_of
from posenc_jax.attention.factors import MOST_COLUMNS, extra_dimensions
from posenc_jax.attention.kernel import ON_GPU, fits
from posenc_jax.encodings.interface.attention import FUSABLE, Prepared
from posenc_jax.encodings.interface.base import Geometry, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.slots import Slot, is_pattern

AttentionPath = Literal["dense", "causal", "blockwise", "cudnn", "kernel"]
Asked = Literal["auto", "dense", "causal", "blockwise", "cudnn", "kernel"]

# More logits than this (256 MiB in float32) are not held as one array where nobody asks for it.
MANY = 2**26
# Fewer queries than this are worth neither a fused kernel nor blocks.
FEW = 128
# From so many keys on blocks of them are faster on a CPU.
LONG = 1024
# From so many keys on a causal call is in parts on a CPU.
CUT = 256
# Fields of a `Geometry` that other fields of a `Call` say.
_DESCRIBED = ("queries", "keys", "causal", "num_heads", "contiguous", "window", "head_axis")


@dataclasses.dataclass(frozen=True)
class Call:
    """The facts that the choice depends on besides the encodings: one call of attention, described by shapes alone.

    Attributes:
      queries, keys: Q and K.
      head_dim: D, as projected.
      dtype: of queries and keys.
      values_dtype: of values, or None: the same.
      backend: "cpu", "gpu" or "tpu".
      capability: of a GPU, as `capability`.
      x64: whether JAX's 64-bit types are enabled.
      causal, window: as in `Geometry`.
      segments: whether there are segment ids.
      right_padded: whether they say no more than how long each row is.
      contiguous: positions are plain, those of all rows, and grow by one on both sides, before any mapping.
      packed: as in `Geometry`.
      ordered: the places of both sides are known when the program is built, are those of all rows, and grow by one.
      first: the place of query 0 minus that of key 0.
      return_weights: the weights are wanted.
      options: names of what else is set, `Prepared.options` and fields of a `Geometry` that are not above.
    """

    batch: int
    num_heads: int
    num_kv_heads: int
    queries: int
    keys: int
    head_dim: int
    dtype: Any = jnp.float32
    backend: str = "cpu"
    capability: str | None = None
    causal: bool = False
    window: int | None = None
    segments: bool = False
    right_padded: bool = False
    contiguous: bool = True
    packed: bool = False
    ordered: bool = True
    first: int = 0
    return_weights: bool = False
    values_dtype: Any = None
    x64: bool = False
    options: frozenset[str] = frozenset()

    @classmethod
    def of(cls, call: Prepared, *, return_weights: bool = False) -> Call:
        """The call with prepared arguments, on `backend`; with several devices, the part of one of them."""
        batch, num_heads, queries, head_dim = call.q.shape
        found = facts(call.geometry)
        return cls(
            batch=part_of(batch, devices_along(ROWS)),
            num_heads=part_of(num_heads, devices_along(HEADS)),
            num_kv_heads=part_of(call.k.shape[1], devices_along(HEADS)),
            queries=queries,
            keys=call.k.shape[2],
            head_dim=head_dim,
            dtype=jnp.result_type(call.q, call.k),
            return_weights=return_weights,
            values_dtype=call.v.dtype,
            **found | {"options": found["options"] | call.options},
        )

    @property
    def logits(self) -> int:
        """The number of logits."""
        return self.batch * self.num_heads * self.queries * self.keys


def backend() -> str:
    """The platform, "cpu", "gpu" or "tpu", of the mesh in use, else JAX's default. So a program can be compiled for a
    device that is not there: under ``jax.sharding.use_abstract_mesh`` with a mesh of it.
    """
    device = jax.sharding.get_abstract_mesh().abstract_device
    return jax.default_backend() if device is None else device.platform


def capability() -> str | None:
    """The compute capability of the GPU that `backend` is about, such as "8.0", or AMD's name of it; None: not told."""
    here, device = jax.devices()[0], jax.sharding.get_abstract_mesh().abstract_device
    if device is None or device.device_kind == here.device_kind:  # JAX's own description of a device leaves it out
        device = here
    return getattr(device, "compute_capability", None)


def facts(geometry: Geometry) -> dict[str, Any]:
    """The fields of a `Call` that follow from its geometry, `backend` and `capability`."""
    sides = geometry.q_positions, geometry.k_positions
    ordered = _grows_by_one(geometry.q_places) and _grows_by_one(geometry.k_places)
    return {
        "backend": backend(),
        "capability": capability(),
        "x64": jnp.result_type(float) == jnp.float64,
        "causal": geometry.causal,
        "window": geometry.window,
        "segments": geometry.k_segments is not None,
        "right_padded": geometry.right_padded and geometry.k_segments is not None,
        "contiguous": geometry.contiguous and all(len(p) == 1 and len(p.shape) == 2 for p in sides),
        "packed": geometry.packed,
        "ordered": ordered,
        "first": int(geometry.q_places[0, 0] - geometry.k_places[0, 0]) if ordered else 0,
        "options": frozenset(
            field.name
            for field in dataclasses.fields(geometry)
            if field.name not in _DESCRIBED and getattr(geometry, field.name) is not field.default
        ),
    }


def _grows_by_one(places: Any) -> bool:
    return isinstance(places, np.ndarray) and len(places) == 1 and bool((np.diff(places) == 1).all())


@dataclasses.dataclass(frozen=True)
class Choice:
    """A way to compute attention, and why: ``print(choice)`` gives both.

    Attributes:
      path: "dense", the reference: logits and weights as arrays, O(T^2) memory. "causal": the same for a few blocks of
        queries, each against the keys up to its last place (`causal_parts`). "blockwise": some queries at a time,
        against some keys where no encoding needs all, every hook, O(T) memory, the logits computed once more for the
        gradient. "cudnn": cuDNN's fused attention. "kernel": the fused kernel of `posenc_jax.attention.kernel`. Both
        keep O(T) memory.
      reason: in words.
    """

    path: AttentionPath
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


def choose(encodings: tuple[PositionalEncoding, ...], call: Call, asked: Asked = "auto") -> Choice:
    """The way to compute one layer's attention; ``asked`` names one instead of "auto".

    On a CPU that is the reference, in parts for longer causal calls, and for long rows blocks of queries and keys.
    Elsewhere it is cuDNN if it supports the call, else the kernel, else blocks for calls with many logits. On a CPU the
    kernel is interpreted if it is asked for, which is for tests.

    Raises:
      ValueError: if a way is asked for that cannot serve this call, with the reason.
    """
    if asked not in typing.get_args(Asked):
        raise ValueError(f"attention = {asked!r} is not one of {', '.join(map(repr, typing.get_args(Asked)))}")
    if call.return_weights:
        if asked not in ("auto", "dense"):
            raise ValueError(f"attention = {asked!r} keeps no weights to return: use 'dense'")
        return Choice("dense", "the weights are wanted as an array")
    obstacles = {"causal": _against_parts, "cudnn": _against_cudnn, "kernel": _against_kernel}
    if asked != "auto":
        for why in obstacles[asked](encodings, call) if asked in obstacles else ():
            raise ValueError(f"attention = {asked!r} cannot serve this call: {why}; 'blockwise' serves every call")
        return Choice(asked, "asked for")
    if call.backend == "cpu":
        if call.queries >= FEW and call.keys >= LONG and not any(map(needs_all_keys, encodings)):
            return Choice("blockwise", f"the fastest on a CPU for {call.keys} keys")
        if call.queries >= FEW and call.keys >= CUT and not any(_against_parts(encodings, call)):
            return Choice("causal", f"the fastest on a CPU for {call.keys} keys")
        return Choice("dense", "the fastest on a CPU")
    whys = [next(against(encodings, call), None) for against in (_against_cudnn, _against_kernel)]
    if call.queries >= FEW:
        if whys[0] is None:
            return Choice("cudnn", "fused; " + _served(encodings, call, table=False))
        if whys[1] is None:
            return Choice("kernel", "fused; " + _served(encodings, call, table=True))
    size = f"{call.logits * jnp.dtype(at_least_float32(call.dtype)).itemsize / 2**20:.0f} MiB of logits"
    why = f", since {whys[1]}" if call.queries >= FEW else ""
    return Choice("dense", f"only {size}{why}") if call.logits <= MANY else Choice("blockwise", size + why)


def fused_paths(slot: Slot) -> tuple[AttentionPath, ...]:
    """The fused paths that support every layer of a slot in causal self-attention of whole sequences, one per row, in
    bfloat16 at head dimension 64. "dense" and "blockwise" support every call.
    """
    call = Call(1, 8, 8, 1024, 1024, 64, dtype=jnp.bfloat16, backend="gpu", causal=True)
    layers: Any = slot if is_pattern(slot) else (slot,)
    ways: dict[AttentionPath, Any] = {"cudnn": _against_cudnn, "kernel": _against_kernel}
    return tuple(
        path for path, against in ways.items() if not any(why for layer in layers for why in against(layer, call))
    )


def in_table(encodings: tuple[PositionalEncoding, ...], call: Call) -> tuple[int, ...]:
    """Indices of the elements whose bias fits in a table of distances in this call."""
    known, found = call.contiguous or call.packed, []
    for number, e in enumerate(encodings):
        if e.acts_on - FUSABLE == {"bias"} and e.bias_of_distance and known:
            found.append(number)
        known = known and "map_positions" not in e.acts_on
    return tuple(found)


def in_factors(encodings: tuple[PositionalEncoding, ...], call: Call) -> tuple[int, ...]:
    """Indices of the elements whose bias factors can express in this call (see `PositionalEncoding.factors`)."""
    contiguous, found = call.contiguous, []
    for number, e in enumerate(encodings):
        added = e.acts_on - FUSABLE
        in_order = call.causal and (contiguous or e.position_axes == "any")
        if added and added <= {"bias", "content_bias"} and e.num_factors and in_order:
            found.append(number)
        contiguous = contiguous and "map_positions" not in e.acts_on
    return tuple(found)


def _served(encodings: tuple[PositionalEncoding, ...], call: Call, *, table: bool) -> str:
    """The handling of the encodings' biases, in words."""
    of_table = in_table(encodings, call) if table else ()
    words = [f"{encodings[e].name} in a table of distances" for e in of_table]
    of_columns = in_columns(encodings, call) if table else ()
    words += [f"{encodings[e].name} in columns of queries and keys" for e in of_columns]
    rest = in_dimensions(encodings, call) if table else in_factors(encodings, call)
    words += [f"{encodings[e].name} in further dimensions" for e in rest]
    return ", ".join(words) or "no bias"


def _unserved(encodings: tuple[PositionalEncoding, ...], served: tuple[int, ...], *, table: bool) -> Iterator[str]:
    for number, e in enumerate(encodings):
        added = e.acts_on - FUSABLE
        if not added or number in served:
            continue
        if added == {"bias"} and (e.num_factors or (table and e.bias_of_distance)):
            yield f"the bias of {e.name} needs plain positions that grow by one, from 0 in all rows or in each segment"
        elif added == {"bias"}:
            yield f"the bias of {e.name} is " + ("no function of the distance alone" if table else "not separable")
        else:
            yield f"{e.name} acts on logits or weights ({', '.join(sorted(added))})"


def in_columns(encodings: tuple[PositionalEncoding, ...], call: Call) -> tuple[int, ...]:
    """Indices of the elements `in_factors`, without those in a table, that the kernel takes as columns: all of them, or
    none if they have too many factors.
    """
    factored = _beside_table(encodings, call)
    return factored if sum(encodings[e].num_factors for e in factored) <= MOST_COLUMNS else ()


def in_dimensions(encodings: tuple[PositionalEncoding, ...], call: Call) -> tuple[int, ...]:
    """Indices of the elements `in_factors` that the kernel takes as dimensions: those in neither table nor columns."""
    return () if in_columns(encodings, call) else _beside_table(encodings, call)


def _beside_table(encodings: tuple[PositionalEncoding, ...], call: Call) -> tuple[int, ...]:
    of_table = in_table(encodings, call)
    return tuple(e for e in in_factors(encodings, call) if e not in of_table)


def _dimensions(encodings: tuple[PositionalEncoding, ...], call: Call, factored: tuple[int, ...]) -> int:
    """The dimensions of encoded queries and keys with these factors appended."""
    dims = functools.reduce(lambda dims, e: e.encoded_dim(dims), encodings, call.head_dim)
    return dims + sum(extra_dimensions(encodings[e].num_factors, call.dtype) for e in factored)


def _before_ampere(call: Call) -> str | None:
    """The GPU, in words, if it is known to be none of NVIDIA's from Ampere on."""
    if call.backend != "gpu" or call.capability is None:
        return None
    major = call.capability.partition(".")[0]
    return None if major.isdecimal() and int(major) >= 8 else f"a GPU of compute capability {call.capability}"


def _against_parts(encodings: tuple[PositionalEncoding, ...], call: Call) -> Iterator[str]:
    """Why the keys of blocks of queries cannot be cut, if they cannot."""
    if not call.causal:
        yield "the call is not causal"
    if not call.ordered:
        yield "its places are not known when the program is built"
    for e in encodings:
        if "cached_decoding" in e.breaks:
            yield f"{e.name} needs the keys after a query"


def _against_cudnn(encodings: tuple[PositionalEncoding, ...], call: Call) -> Iterator[str]:
    """Why cuDNN cannot serve the call, if it cannot."""
    factored = in_factors(encodings, call)
    dims = _dimensions(encodings, call, factored)
    if call.backend != "gpu":
        yield f"it runs on NVIDIA's GPUs, not on a {call.backend}"
    if older := _before_ampere(call):
        yield f"it runs on NVIDIA's GPUs from Ampere on, not on {older}"
    if call.dtype not in (jnp.bfloat16, jnp.float16):
        yield f"it computes in bfloat16 or float16, not in {jnp.dtype(call.dtype)}"
    if call.values_dtype not in (None, call.dtype):
        yield f"values of {call.values_dtype} are of another type than queries and keys of {jnp.dtype(call.dtype)}"
    yield from _unserved(encodings, factored, table=False)
    for learned in (encodings[e].name for e in factored if not encodings[e].fixed_factors):
        yield f"the gradients of what {learned} adds would be rounded to {jnp.dtype(call.dtype)}"
    if call.segments and not call.right_padded:
        yield "segments would be a mask over all pairs"
    for option in sorted(call.options):
        yield f"it has no {option}"
    if (call.causal or call.window) and (not call.ordered or call.first or call.queries != call.keys):
        yield "its masks are for queries and keys of the same places"
    if call.window and not call.causal:
        yield "its windows look into the past only"
    if call.window and call.segments:
        yield "it takes a window or the lengths of rows, not both"
    if dims > LARGEST_HEAD:
        yield f"queries and keys of {dims} dimensions are more than its {LARGEST_HEAD}"


def _against_kernel(encodings: tuple[PositionalEncoding, ...], call: Call) -> Iterator[str]:
    """Why the kernel cannot serve the call, if it cannot."""
    of_table, of_columns = in_table(encodings, call), in_columns(encodings, call)
    factored = in_dimensions(encodings, call)
    added = sum(encodings[e].num_factors for e in of_columns)
    dims = _dimensions(encodings, call, factored)
    if call.dtype not in (jnp.float32, jnp.bfloat16):
        yield f"the kernel computes in float32 or bfloat16, not in {jnp.dtype(call.dtype)}"
    if ON_GPU == "mosaic" and (older := _before_ampere(call)):
        yield f"the kernel of JAX 0.12 on runs on NVIDIA's GPUs from Ampere on, not on {older}"
    yield from _unserved(encodings, (*of_table, *of_columns, *factored), table=True)
    for e in factored:
        if not encodings[e].fixed_factors and call.dtype != jnp.float32:
            yield f"the gradients of what {encodings[e].name} adds would be rounded to {jnp.dtype(call.dtype)}"
    if call.x64:
        yield "the kernel counts in 32 bits, and 64-bit types are enabled (jax_enable_x64)"
    for option in sorted(call.options):
        yield f"the kernel has no {option}"
    if not call.ordered:
        yield "the kernel needs places that are known when the program is built, as without a cache"
    if dims > 256:
        yield f"queries and keys of {dims} dimensions are more than the kernel's 256"
    elif call.backend == "tpu" and not fits("tpu", call.queries, call.keys, dims, call.dtype, added):
        yield f"{max(call.queries, call.keys)} tokens are more than the kernel holds on a TPU"
