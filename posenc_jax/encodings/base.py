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
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.method import Method
from posenc_jax.encodings.structure import Place, StructureMask, seen_by_structure
from posenc_jax.encodings.value import Value

Array = jax.Array | np.ndarray  # NumPy where a value is known at trace time
Key = jax.Array
Params = dict[str, Any]  # of one encoding: arrays by name, at any depth
Terms = Any  # what `token_terms` gives: a pytree of arrays, or None


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        *("positions", "length", "tokens", "segment_ids", "token_types", "example_ids", "context", "places"),
        "outline",
    ],
    meta_fields=[],
)
@dataclasses.dataclass(frozen=True)
class Sequence:
    """One side of a model: what an encoding may know about its tokens.

    Attributes:
      positions: ``[#B, S]`` or ``[#B, S, A]``. A NumPy array when known at trace time: tables are then built on the
        host in float64.
      length: ``[#B]``, the real length (traced): real tokens, or prompt plus tokens to be generated. Never the padded
        size, and the same in a full pass, a prefill and a decoding step. Where a row is packed with several sequences
        ``[#B, S]``, for every token that of its own segment: so a packed sequence is what it is alone. `by_token` reads
        both.
      tokens: ``[B, S]`` token ids, or None.
      segment_ids: ``[#B, S]`` packing; 0 is padding, or None (all one segment).
      token_types: ``[#B, S]`` header / body / footer, or None.
      example_ids: ``[B]`` the row's index in the whole batch, or None for ``0..B-1``: per-example draws fold it in, so
        that splitting a batch changes no draw. A draw belongs to a row: sequences packed into one share it, and each
        takes of it what it would take alone in a row of that number.
      context: the whole sequence, past included, of which these tokens are a part (with a cache), or None: they are the
        whole. places: ``[#B, S]``, their places in it.
      outline: ``[#B, S, 4]`` where each token stands in a document (see `structure.Place`), or None.
    """

    positions: Array
    length: Array
    tokens: Array | None = None
    segment_ids: Array | None = None
    token_types: Array | None = None
    example_ids: Array | None = None
    context: Sequence | None = None
    places: Array | None = None
    outline: Array | None = None

    @classmethod
    def of_length(cls, length: int, **fields: Any) -> Sequence:
        """An unpadded sequence at positions ``0 .. length-1``."""
        return cls(np.arange(length, dtype=np.int32)[None], np.full((1,), length, np.int32), **fields)

    def from_context(self, function: Callable[[Sequence], Array]) -> Array:
        """``function(whole sequence)``, ``[#B, C, ...]`` with a value per token, at the tokens of this one:
        ``[#B, S, ...]``. For what a token's neighbours decide, such as its place in a run of digits.
        """
        if self.context is None:
            return function(self)
        assert self.places is not None
        values = jnp.asarray(function(self.context))
        places = jnp.asarray(self.places)
        rows = max(values.shape[0], places.shape[0])
        values, places = (jnp.broadcast_to(a, (rows, *a.shape[1:])) for a in (values, places))
        return jax.vmap(lambda v, i: jnp.take(v, i, axis=0, mode="clip"))(values, places)


def by_token(length: Array) -> Array:
    """``[#B, 1]`` of lengths ``[#B]``, ``[#B, S]`` as they are: either stands beside positions ``[#B, S]``."""
    return length[:, None] if len(length.shape) == 1 else length


_GEOMETRY_ARRAYS = [
    "q_positions",
    "k_positions",
    "q_places",
    "k_places",
    "q_segments",
    "k_segments",
    "q_types",
    "k_types",
    "q_length",
    "k_length",
    "q_outline",
    "k_outline",
]


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=_GEOMETRY_ARRAYS,
    meta_fields=["causal", "num_heads", "contiguous", "window", "structure"],
)
@dataclasses.dataclass(frozen=True)
class Geometry:
    """One attention call as one element of a slot sees it. Nothing of size Q x K is stored; `relative` and `mask` are
    computed on demand, for any `block`.

    Attributes:
      q_positions, k_positions: ``[#B, Q]``, ``[#B, K]`` (or with a last axis ``A``), as mapped for this element.
      q_places, k_places: ``[#B, Q]``, ``[#B, K]``: order of storage, from which causality follows (mapped positions
        never decide it).
      q_segments, k_segments: segment ids (0 = padding) or None. q_types, k_types: token types or None.
      q_length, k_length: real length of what is attended to, for every query and key: ``[#B]``, or where rows are
        packed ``[#B, Q]`` and ``[#B, K]``, that of the sequence on the key side in its segment (see `Sequence`).
      causal: a query sees only places up to its own. num_heads: query heads H.
      contiguous: both sides' positions grow by one per place, so that the bias is a Toeplitz matrix.
      window: a query sees only keys less than so many places away (1: itself); None: at any distance.
      q_outline, k_outline: ``[#B, Q, 4]``, ``[#B, K, 4]``, see `Sequence`, or None. structure: what else
        decides, by token types and outlines, or None.
    """

    q_positions: Array
    k_positions: Array
    q_places: Array
    k_places: Array
    q_length: Array
    k_length: Array
    q_segments: Array | None = None
    k_segments: Array | None = None
    q_types: Array | None = None
    k_types: Array | None = None
    causal: bool = False
    num_heads: int = 1
    contiguous: bool = False
    window: int | None = None
    q_outline: Array | None = None
    k_outline: Array | None = None
    structure: StructureMask | None = None

    def __post_init__(self) -> None:
        if self.window is not None and self.window < 1:
            raise ValueError(f"window = {self.window} must be at least 1, a query's own place, or None for no window")

    @classmethod
    def between(
        cls,
        queries: Sequence,
        keys: Sequence,
        *,
        num_heads: int,
        causal: bool = False,
        q_places: Array | None = None,
        k_places: Array | None = None,
        contiguous: bool = False,
        window: int | None = None,
        structure: StructureMask | None = None,
    ) -> Geometry:
        """The geometry of ``queries`` attending to ``keys``; places default to ``0 .. S-1`` on both sides."""

        def default(places: Array | None, sequence: Sequence) -> Array:
            return np.arange(sequence.positions.shape[1], dtype=np.int32)[None] if places is None else places

        return cls(
            queries.positions,
            keys.positions,
            default(q_places, queries),
            default(k_places, keys),
            keys.length if queries is keys else _length_for(queries, keys),
            keys.length,
            queries.segment_ids,
            keys.segment_ids,
            queries.token_types,
            keys.token_types,
            causal,
            num_heads,
            contiguous,
            window,
            queries.outline,
            keys.outline,
            structure,
        )

    @classmethod
    def of_length(cls, length: int, *, num_heads: int, causal: bool = False) -> Geometry:
        """Self-attention over ``length`` unpadded tokens at positions ``0 .. length-1``."""
        sequence = Sequence.of_length(length)
        return cls.between(sequence, sequence, num_heads=num_heads, causal=causal, contiguous=True)

    @property
    def relative(self) -> Array:
        """Key position minus query position, ``[#B, Q, K]`` (or ``[#B, Q, K, A]``): the one sign convention. NumPy if
        both sides are.
        """
        return self.k_positions[:, None, :] - self.q_positions[:, :, None]

    @property
    def mask(self) -> Array | None:
        """``[#B, 1, Q, K]``, True = may attend; None when everything may. From places, segments and structure, never
        from mapped positions.
        """
        mask = None
        if self.causal:
            mask = self.k_places[:, None, :] <= self.q_places[:, :, None]
        if self.window is not None:
            away = self.k_places[:, None, :] - self.q_places[:, :, None]
            near = (away < self.window) & (-away < self.window)
            mask = near if mask is None else mask & near
        if self.k_segments is not None:
            visible = (self.k_segments != 0)[:, None, :]
            if self.q_segments is not None:
                visible = visible & (self.k_segments[:, None, :] == self.q_segments[:, :, None])
            mask = visible if mask is None else mask & visible
        if self.structure is not None:
            sides = Place(self.q_types, self.q_outline), Place(self.k_types, self.k_outline)
            itself = self.k_places[:, None, :] == self.q_places[:, :, None]
            seen = seen_by_structure(self.structure, *sides) | itself
            mask = seen if mask is None else mask & seen
        return None if mask is None else mask[:, None]

    def block(self, q: slice, k: slice) -> Geometry:
        """The same call restricted to some queries and some keys."""

        def cut(array: Array | None, part: slice) -> Any:
            return None if array is None else array[:, part]

        return dataclasses.replace(
            self,
            q_positions=cut(self.q_positions, q),
            k_positions=cut(self.k_positions, k),
            q_places=cut(self.q_places, q),
            k_places=cut(self.k_places, k),
            q_segments=cut(self.q_segments, q),
            k_segments=cut(self.k_segments, k),
            q_types=cut(self.q_types, q),
            k_types=cut(self.k_types, k),
            q_outline=cut(self.q_outline, q),
            k_outline=cut(self.k_outline, k),
            q_length=self.q_length if len(self.q_length.shape) == 1 else cut(self.q_length, q),
            k_length=self.k_length if len(self.k_length.shape) == 1 else cut(self.k_length, k),
            contiguous=self.contiguous and {q.step, k.step} <= {None, 1},
        )


def _length_for(queries: Sequence, keys: Sequence) -> Array:
    """``[#B]``, or ``[#B, Q]``: the length that the keys of each query's own segment have. Without segments on both
    sides a query sees all keys, and has the longest of their lengths.
    """
    if len(keys.length.shape) == 1:
        return keys.length
    if queries.segment_ids is None or keys.segment_ids is None:
        return jnp.max(jnp.asarray(keys.length), axis=1)
    own = jnp.asarray(queries.segment_ids)[:, :, None] == jnp.asarray(keys.segment_ids)[:, None, :]
    return jnp.max(jnp.where(own, jnp.asarray(keys.length)[:, None, :], 0), axis=2)


@dataclasses.dataclass(frozen=True)
class Dims:
    """Sizes of the model that an encoding serves. ``max_len``: positions ``0 .. max_len-1`` occur."""

    d_model: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    num_layers: int
    max_len: int
    vocab_size: int = 0


class PositionalEncoding(Value):
    """Base class of all encodings; subclass as a frozen dataclass and override the hooks that the method needs.

    Class facts:
      name: the word used in strings and tables. paper, citation: where it comes from, empty for one of
        your own. methods: its rows of the
        catalogue.
      shift_invariant: logits (or outputs) depend on position differences only.
      unsigned: sees distances, not directions: without a causal mask a sequence looks like its mirror image. Where a
        field decides, a property, as for all facts.
      causal_only: meaningless without a causal mask. integer_positions: refuses fractional positions.
      needs_token_types: refuses sequences without token types.
      extrapolates: defined beyond the lengths seen in training (not a promise of quality).
      bias_of_distance: `bias` reads `Geometry.relative` (and ``causal``, ``num_heads``) and nothing else of a geometry,
        so that a fused kernel can take it from a table of distances.
      breaks: contract clauses it cannot keep by its nature.
      per_layer: one parameter set per layer instead of one per stack.
      frozen: names of top-level parameters that are not trained.
      random: draws from a key in `map_positions`. redraw: "forward" (one draw per pass) or "layer" (a field where a
        method offers the choice).
      position_axes: None for plain positions ``[#B, S]``, a number A for ``[#B, S, A]``, "any" for both; where a field
        decides, a property.
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
    extrapolates: ClassVar[bool] = True
    bias_of_distance: ClassVar[bool] = False
    breaks: ClassVar[frozenset[str]] = frozenset()
    per_layer: ClassVar[bool] = False
    frozen: ClassVar[frozenset[str]] = frozenset()
    random: ClassVar[bool] = False

    HOOKS: ClassVar[tuple[str, ...]] = (
        "map_positions",
        "embed",
        "encode_queries",
        "encode_keys",
        "bias",
        "token_terms",
        "score",
        "content_bias",
        "adjust_logits",
        "normalize",
        "value_term",
    )
    # Of each of these a slot can hold one element at most.
    EXCLUSIVE: ClassVar[tuple[str, ...]] = ("score", "adjust_logits", "normalize")

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuses a field called like a hook, which would hide it."""
        super().__init_subclass__(**options)
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
    def redraws_per_layer(self) -> bool:
        """True when `map_positions` is called anew, with another key, in every layer."""
        return getattr(self, "redraw", "forward") == "layer"

    @property
    def position_axes(self) -> int | Literal["any"] | None:
        """See the class facts."""
        return None

    def check(self, dims: Dims) -> None:
        """Refuses a model that this encoding cannot serve (odd dimensions, a table too short), before anything is
        compiled.
        """

    def check_beside(self, others: tuple[PositionalEncoding, ...]) -> None:
        """Refuses a slot whose ``others`` lack what this encoding needs."""

    def mapped_max_len(self, max_len: int) -> int:
        """The ``max_len`` that later elements of the slot see, given that of this one."""
        return max_len

    @property
    def num_candidates(self) -> int:
        """How many positions a draw of `map_positions` chooses among, where it holds them all in memory; else 0."""
        return 0

    @property
    def num_factors(self) -> int:
        """F of `factors`, or 0 where what is added to the logits is not separable."""
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
        return {}

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
        """``[B, S, M]`` input embeddings with this encoding added."""
        return x

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        """``[B, H, S, D]`` queries, each encoded by its own position ``[#B, S]`` and, if it reads that, its length
        (`Geometry.q_length`, see `by_token`).
        """
        return q

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        """``[B, Hkv, S, D]`` keys, each encoded by its own position ``[#B, S]`` and length (`Geometry.k_length`)."""
        return k

    def bias(self, params: Params, geometry: Geometry) -> Array | None:
        """``[#B, H, Q, K]`` added to the logits after the 1/sqrt(D) scaling; a function of positions only."""
        return None

    def token_terms(self, params: Params, x: Array, sequence: Sequence) -> Terms:
        """What attention will need of each token, computed from the block's input ``x [B, S, M]``, which is also what
        queries, keys and values are projected from.

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
        `content_bias`. As further dimensions of queries and keys they go through any fused kernel.
        """
        raise NotImplementedError

    def adjust_logits(self, params: Params, logits: Array, bias: Array | None, geometry: Geometry) -> Array:
        """``[B, H, Q, K]`` in place of the sum ``logits + bias``: ``logits`` are products and content biases, ``bias``
        ``[#B, H, Q, K]`` the sum of all `bias`, or None. Neither is masked. At most one element of a slot has it.
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


def at_least_float32(*dtypes: Any) -> Any:
    """The dtype to compute in: float64 if any input is, else float32."""
    return jnp.promote_types(jnp.result_type(*dtypes), jnp.float32)
