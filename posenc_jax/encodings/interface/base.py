"""The interface that every positional encoding implements.

An encoding is a frozen dataclass: hashable, comparable, printable, itself its own config. Its parameters are an
explicit pytree that the model owns. It acts through a few hooks, each the identity or ``None`` unless overridden; a
model slot holds a *tuple* of encodings, folded left to right (``()`` is NoPE).

Axis names: ``B`` batch, ``S`` sequence, ``Q`` queries, ``K`` keys, ``H`` heads, ``D`` head dimension, ``M`` model
dimension, ``A`` position axes. ``#B`` means B or 1.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import jax
import numpy as np

from posenc_jax.encodings.interface.arrays import at_least_float32 as at_least_float32
from posenc_jax.encodings.interface.arrays import check_embedded, check_key, check_kind, check_size, check_vectors
from posenc_jax.encodings.interface.geometry import Geometry as Geometry
from posenc_jax.encodings.interface.geometry import Sequence as Sequence
from posenc_jax.encodings.interface.geometry import by_token as by_token
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.structure import Array as Array
from posenc_jax.encodings.interface.value import Value

Key = jax.Array
Params = dict[str, Any]  # of one encoding: arrays by name, at any depth
HeadAxes = tuple[tuple[str, int], ...]  # of parameters by name, which axis is that of heads
Terms = Any  # what `token_terms` gives: a pytree of arrays, or None


@dataclasses.dataclass(frozen=True)
class Dims(Value):
    """Sizes of the model that an encoding is part of. ``max_len``: positions ``0 .. max_len-1`` occur."""

    d_model: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    num_layers: int
    max_len: int
    vocab_size: int = 0

    def check_fields(self) -> None:
        """Refuses sizes below 1, except a vocabulary of 0, which means that tokens are not read, and key heads that do
        not divide the query heads.
        """
        for field in dataclasses.fields(self):
            check_size(f"Dims.{field.name}", getattr(self, field.name), 0 if field.name == "vocab_size" else 1)
        if self.num_heads % self.num_kv_heads:
            raise ValueError(
                f"Dims.num_kv_heads = {self.num_kv_heads} must divide num_heads = {self.num_heads}: every key head "
                "serves as many query heads"
            )


# The hooks that see one token each.
OF_TOKENS = frozenset({"embed", "encode_queries", "encode_keys", "encode_values", "encode_outputs", "token_terms"})


class PositionalEncoding(Value):
    """Base class of all encodings; subclass as a frozen dataclass and override the hooks that the method needs.

    Class facts:
      name: the word used in strings and tables. paper, citation (BibTeX): its source, empty for one of your own.
        methods: its rows of the catalogue.
      shift_invariant: logits (or outputs) depend on position differences only.
      unsigned: sees distances, not directions: without a causal mask a sequence looks like its mirror image. Where a
        field decides, a property, as for all facts.
      causal_only: meaningless without a causal mask. integer_positions: refuses fractional positions.
      needs_token_types: refuses sequences without token types. known_token_types: how many it knows, None for any.
      needs_attributes: how many numbers of each token it reads (`Sequence.attributes`); needs_pairs: how many of each
        pair (`Sequence.pairs`); refuses sequences with fewer. Where a field decides, a property.
      undivided: takes the division of the logits by sqrt(D) away.
      extrapolates: defined beyond the lengths seen in training (not a promise of quality).
      bias_of_distance: `bias` reads `Geometry.relative` (and ``causal``, ``num_heads``) and nothing else of a geometry,
        so that a fused kernel can take it from a table of distances.
      linear_in_queries: scaling the queries scales the logits. If False, the encoding must come first in its slot.
      breaks: contract clauses it cannot keep by its nature.
      per_layer: one parameter set per layer instead of one per stack.
      frozen: names of top-level parameters that are not trained.
      head_axes: of top-level parameters with something for each head, the axis of heads: a device that has some of the
        heads (`Geometry.head_axis`) gives hooks its part, but for `token_terms`, which sees all. terms_by_head: terms
        are ``[B, S, heads, ...]``. by_key_head: these are key heads, not query heads.
      random: draws from a key in `map_positions`. redraw: "forward" (one draw per pass) or "layer" (a field where a
        method offers the choice).
      position_axes: None for plain positions ``[#B, S]``, a number A for ``[#B, S, A]``, "any" for both; where a field
        decides, a property. reads_text: plain positions, too, which then stand for all axes.
    """

    name: ClassVar[str]
    paper: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    methods: ClassVar[tuple[Method, ...]] = ()
    shift_invariant: ClassVar[bool] = False
    unsigned: ClassVar[bool] = False
    causal_only: ClassVar[bool] = False
    integer_positions: ClassVar[bool] = False
    needs_token_types: ClassVar[bool] = False
    known_token_types: ClassVar[int | None] = None
    needs_attributes: ClassVar[int] = 0
    needs_pairs: ClassVar[int] = 0
    undivided: ClassVar[bool] = False
    extrapolates: ClassVar[bool] = True
    bias_of_distance: ClassVar[bool] = False
    linear_in_queries: ClassVar[bool] = True
    breaks: ClassVar[frozenset[str]] = frozenset()
    per_layer: ClassVar[bool] = False
    frozen: ClassVar[frozenset[str]] = frozenset()
    head_axes: ClassVar[HeadAxes] = ()
    terms_by_head: ClassVar[bool] = False
    by_key_head: ClassVar[bool] = False
    random: ClassVar[bool] = False
    position_axes: ClassVar[int | Literal["any"] | None] = None
    reads_text: ClassVar[bool] = False

    HOOKS: ClassVar[tuple[str, ...]] = (
        "map_positions",
        "embed",
        "encode_queries",
        "encode_keys",
        "encode_values",
        "bias",
        "token_terms",
        "score",
        "content_bias",
        "adjust_logits",
        "normalize",
        "encode_outputs",
        "value_term",
    )
    # A slot can hold at most one element with each of these.
    EXCLUSIVE: ClassVar[tuple[str, ...]] = ("score", "normalize")

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuses a field called like a hook, which would hide it, and has the arrays checked that hooks are given."""
        super().__init_subclass__(**options)
        for hook, check in _GIVEN.items():
            if inspect.isfunction(own := cls.__dict__.get(hook)):
                setattr(cls, hook, _checked(own, check))
        for field in inspect.get_annotations(cls):
            if field in cls.HOOKS:
                raise TypeError(f"{cls.__name__}.{field} is a field, but also the name of a hook: call it otherwise")

    @property
    def acts_on(self) -> frozenset[str]:
        """The hooks that this instance uses (None or the identity for the others)."""
        return frozenset(
            hook for hook in self.HOOKS if getattr(type(self), hook) is not getattr(PositionalEncoding, hook)
        )

    @property
    def by_pairs(self) -> bool:
        """True if its effect on a query and a key depends on no other token, so that a mask alone defines the past of a
        query and the hypotheses of a beam can share one cache. False if `map_positions` may read neighbours, if it
        changes weights or logits together, if it breaks the clauses ``blocks`` or ``cached_decoding`` of the contract,
        and if it reads pairs, which belong to one sequence.
        """
        alone = self.acts_on <= OF_TOKENS | {"bias", "score", "content_bias", "value_term"} and not self.needs_pairs
        return alone and not self.breaks & {"blocks", "cached_decoding"}

    @property
    def redraws_per_layer(self) -> bool:
        """True when `map_positions` is called anew, with another key, in every layer."""
        return getattr(self, "redraw", "forward") == "layer"

    def check(self, dims: Dims) -> None:
        """Refuses a model that this encoding cannot serve (odd dimensions, a table too short), before anything is
        compiled.
        """

    def check_beside(self, others: tuple[PositionalEncoding, ...]) -> None:
        """Refuses a slot whose ``others`` lack what this encoding needs."""

    def mapped_max_len(self, max_len: int) -> int:
        """The ``max_len`` that later elements of the slot see, given that of this one."""
        return max_len

    def num_candidates(self, rows: int) -> int:
        """The number of positions that the draws of `map_positions` for ``rows`` examples choose among, if all of them
        are held in memory; else 0.
        """
        return 0

    @property
    def num_factors(self) -> int:
        """F of `factors`, or 0 where what is added to the logits is not separable."""
        return 0

    @property
    def fixed_factors(self) -> bool:
        """True if `factors` depend on no parameter and no token, so that they need no gradient."""
        return False

    def more_logit_arrays(self, num_heads: int) -> int:
        """The number of arrays of the logits' size ``[B, H, Q, K]`` that its hooks keep for the gradient, besides one
        for each hook that takes the logits; `posenc plan` adds them up.
        """
        return 0

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray | None:
        """``[F]`` float64, radians per position: those of the sines and cosines that this encoding is made of, or of
        the planes that it turns, in a model of ``dims`` and a sequence of real length ``length`` (None: a short one);
        None without any, and where contents or training decide them. In the order of dimensions; of several axes those
        of each axis. Views, aliases and closed forms are made from it.
        """
        return None

    def init(self, key: Key, dims: Dims) -> Params:
        """The parameters, a dict of float32 arrays (empty when there are none)."""
        check_init(key, dims)
        return {}

    def own_params(self, params: Params, geometry: Geometry) -> Params:
        """The part of all parameters that the heads of this device need (`Geometry.head_axis`)."""
        if geometry.head_axis is None:
            return params
        axes = [(name, axis) for name, axis in self.head_axes if name in params]
        return params | {name: geometry.own_heads(params[name], axis) for name, axis in axes}

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """Positions for the elements *after* this one, in the shape of ``sequence.positions`` (a leading 1 may become
        B; a method may add or drop the last axis A).

        Any part of a sequence maps alike: each token by its own position, or, where its neighbours matter, by
        `Sequence.from_context`.
        """
        return sequence.positions

    def encoded_dim(self, head_dim: int) -> int:
        """Dimensions of queries and keys of ``head_dim`` after `encode_queries` and `encode_keys`."""
        return head_dim

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        """``[B, S, M]`` input embeddings with this encoding added, in at least float32, then in the dtype of x."""
        return x

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        """``[B, H, S, D]`` queries, each encoded by its own position ``[#B, S]`` and, if it reads that, its length
        (`Geometry.q_length`, see `by_token`).
        """
        return q

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        """``[B, Hkv, S, D]`` keys, each encoded by its own position ``[#B, S]`` and length (`Geometry.k_length`)."""
        return k

    def encode_values(self, params: Params, v: Array, positions: Array, length: Array) -> Array:
        """``[B, Hkv, S, D]`` values, each encoded like its key; they are cached as projected."""
        return v

    def encode_outputs(self, params: Params, out: Array, positions: Array, length: Array) -> Array:
        """``[B, H, S, D]`` sums of weighted values, each encoded by the position and length of its query, before a
        `value_term` is added. Folded from the last element of the slot to the first, as `encode_values` is undone.
        """
        return out

    def bias(self, params: Params, geometry: Geometry) -> Array | None:
        """``[#B, H, Q, K]`` added to the logits after the 1/sqrt(D) scaling: a function of positions only, in float32
        or wider, or in the dtype of the table that holds it.
        """
        return None

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Terms:
        """Features of each token for the attention hooks, computed from the block's input ``x [B, S, M]``, from which
        queries, keys and values are projected too.

        A pytree of arrays ``[B, S, ...]``, each token by itself, cached beside the keys; the hooks below get it for all
        keys, ``[B, K, ...]``, as ``terms``. ``sequence`` has positions as the model counts them.
        """
        return None

    def score(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        """``[B, H, Q, K]`` in place of the scaled product ``q . k / sqrt(D)``: it scales itself. ``q``, ``k``
        ``[B, H, S, D]`` as the elements of the slot encoded them. At most one element of a slot has it.
        """
        raise NotImplementedError

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array | None:
        """``[B, H, Q, K]`` added to the logits. ``q``, ``k`` ``[B, H, S, D]`` are projected, not encoded and not
        scaled: it scales itself.
        """
        return None

    def factors(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> tuple[Array, Array]:
        """``[#B, #H, Q, F]`` and ``[#B, #H, K, F]``, in at least float32, whose inner products are all that `bias` and
        `content_bias` add, but for a number that is the same for all keys of a query. No softmax sees that, so a slope
        times a distance is a slope times the key's position.

        For keys that do not come after the query, where positions grow with places (or are not read). Arguments as for
        `content_bias`. Fused kernels take them as numbers of queries and keys, or as further dimensions of both.
        """
        raise NotImplementedError

    def adjust_logits(self, params: Params, logits: Array, bias: Array | None, geometry: Geometry) -> Array:
        """``[B, H, Q, K]`` in place of the sum ``logits + bias``: ``logits`` are products and content biases, ``bias``
        ``[#B, H, Q, K]`` the sum of all `bias`, or None. Neither is masked. Folded left to right: to the next element
        that has it, the result is ``logits``, and ``bias`` None.
        """
        raise NotImplementedError

    def normalize(self, params: Params, logits: Array, geometry: Geometry) -> Array:
        """Attention weights ``[B, H, Q, K]`` in place of the softmax over unmasked ``logits``: it applies
        ``geometry.mask`` itself. At most one element of a slot has it.
        """
        raise NotImplementedError

    def value_term(self, params: Params, weights: Array, geometry: Geometry) -> Array | None:
        """``[B, H, Q, D]`` added to the attention output; ``weights`` ``[B, H, Q, K]`` are the attention weights."""
        return None


def _check_sequence(x: Array, sequence: Sequence | None) -> None:
    if sequence is None:  # by a caller who knows that it is not read
        check_kind("x", x, "embeddings", "floats")
        return
    sequence.check()
    check_embedded(x, sequence.positions)


def check_init(key: Key, dims: Dims) -> None:
    """Refuses (ValueError) what is no single key, or no `Dims`."""
    check_key("key", key)
    if not isinstance(dims, Dims):
        raise ValueError(f"dims = {dims!r} must be the sizes of a model: write Dims(d_model=..., num_heads=..., ...)")


# What is asked of the arguments of `init`, and of a hook that gives back what it was given, in its dtype: a rotated
# integer would be cut off.
_GIVEN: dict[str, Callable[..., None]] = {
    "init": check_init,
    "embed": lambda params, x, sequence: _check_sequence(x, sequence),
    "encode_queries": lambda params, q, positions, length: check_vectors("q", q, positions),
    "encode_keys": lambda params, k, positions, length: check_vectors("k", k, positions),
    "encode_values": lambda params, v, positions, length: check_vectors("v", v, positions),
    "encode_outputs": lambda params, out, positions, length: check_vectors("out", out, positions),
    "token_terms": lambda params, x, sequence: _check_sequence(x, sequence),
}


def _checked(hook: Callable[..., Any], check: Callable[..., None]) -> Callable[..., Any]:
    signature = inspect.signature(hook)

    @functools.wraps(hook)
    def checked(*given: Any, **named: Any) -> Any:
        check(*signature.bind(*given, **named).args[1:])
        return hook(*given, **named)

    return checked
