"""Faults of encodings that the contract finds, and its words for them."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.analysis import ContractError, check_contract, contract_clauses
from posenc_jax.encodings import ALiBi, PositionalEncoding, RoPE, Sinusoidal, rotate
from posenc_jax.encodings.interface.base import by_token

# The faults.


@dataclasses.dataclass(frozen=True)
class ArrayIndex(PositionalEncoding):
    """Distances from the places in the arrays: right in one call, wrong with a cache."""

    def bias(self, params, geometry):
        q, k = np.arange(geometry.q_positions.shape[1]), np.arange(geometry.k_positions.shape[1])
        distance = np.abs(k[None, :] - q[:, None])
        return jnp.broadcast_to(-0.5 * distance, (1, geometry.num_heads, *distance.shape))


@dataclasses.dataclass(frozen=True)
class QueriesAreLast(PositionalEncoding):
    """Distances counted back from the last key of the array, as if it were the last query."""

    def bias(self, params, geometry):
        queries, keys = geometry.q_positions.shape[1], geometry.k_positions.shape[1]
        distance = np.abs(np.arange(keys)[None, :] - np.arange(keys - queries, keys)[:, None])
        return jnp.broadcast_to(-0.5 * distance, (1, geometry.num_heads, *distance.shape))


@dataclasses.dataclass(frozen=True)
class FutureLeak(PositionalEncoding):
    """Keys compared with the mean of all keys, later ones too."""

    def content_bias(self, params, q, k, geometry, terms):
        return jnp.einsum("bhkd,bhd->bhk", k, k.mean(axis=2))[:, :, None] + 0 * q[..., :1]


@dataclasses.dataclass(frozen=True)
class PositionsInBfloat16(PositionalEncoding):
    """Rotations by positions in the type of the activations."""

    def encode_queries(self, params, q, positions, length):
        rounded = positions[:, None].astype(q.dtype).astype(np.float32)
        return rotate(q, rounded, np.array([1.0, 0.1, 0.01, 0.001]))

    encode_keys = encode_queries


@dataclasses.dataclass(frozen=True)
class Upcast(PositionalEncoding):
    """Queries multiplied by a float64 constant, which makes bfloat16 float32."""

    def encode_queries(self, params, q, positions, length):
        return q * np.linspace(1, 2, q.shape[-1])[None, None, None]


@dataclasses.dataclass(frozen=True)
class SingleBias(ALiBi):
    """A bias in float32 always."""

    name = "single_bias"

    def bias(self, params, geometry):
        return super().bias(params, geometry).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class ClaimsShift(Sinusoidal):
    """Says that it is shift invariant."""

    name = "claims_shift"
    shift_invariant = True


@dataclasses.dataclass(frozen=True)
class Root(PositionalEncoding):
    """``sqrt(slope * distance)``: at distance 0 the derivative for the slope is infinity times 0."""

    def init(self, key, dims):
        return {"slopes": jnp.ones((1, dims.num_heads, 1, 1), jnp.float32)}

    def bias(self, params, geometry):
        slopes = params["slopes"]
        return -jnp.sqrt(jnp.abs(slopes) * jnp.abs(geometry.relative)[:, None].astype(slopes.dtype))


@dataclasses.dataclass(frozen=True)
class FlippedWhenContiguous(PositionalEncoding):
    """Past and future exchanged in the path for contiguous positions."""

    def bias(self, params, geometry):
        relative = -geometry.relative if geometry.contiguous else geometry.relative
        return jnp.stack([jnp.minimum(relative, 0) / 4.0] * geometry.num_heads, axis=1)


@dataclasses.dataclass(frozen=True)
class FlippedOnTheHost(PositionalEncoding):
    """Past and future exchanged where positions are known."""

    def bias(self, params, geometry):
        relative = -geometry.relative if isinstance(geometry.relative, np.ndarray) else geometry.relative
        return jnp.stack([jnp.minimum(relative, 0) / 4.0] * geometry.num_heads, axis=1)


@dataclasses.dataclass(frozen=True)
class OverLastPosition(PositionalEncoding):
    """Distances as a fraction of the largest position around, padding included."""

    def bias(self, params, geometry):
        last = jnp.max(geometry.k_positions, axis=1)[:, None, None] + 1
        return jnp.stack([-jnp.abs(geometry.relative) / last] * geometry.num_heads, axis=1)


@dataclasses.dataclass(frozen=True)
class PaddedLength(PositionalEncoding):
    """Queries scaled by the width of the array."""

    def encode_queries(self, params, q, positions, length):
        return q * float(np.log(q.shape[2]))


@dataclasses.dataclass(frozen=True)
class LongestLength(PositionalEncoding):
    """Queries scaled by the length of the longest sequence of their row."""

    def encode_queries(self, params, q, positions, length):
        longest = jnp.max(by_token(length), axis=1)[:, None, None, None]
        return q * jnp.log1p(longest.astype(q.dtype))


@dataclasses.dataclass(frozen=True)
class PlaceInStorage(PositionalEncoding):
    """Queries get sharper along the storage instead of along their own sequence."""

    def bias(self, params, geometry):
        past = jnp.minimum(geometry.relative, 0) * jnp.log1p(geometry.q_places)[:, :, None]
        return jnp.stack([past / 4] * geometry.num_heads, axis=1)


@dataclasses.dataclass(frozen=True)
class MixesRows(PositionalEncoding):
    """The mean over the batch, added."""

    def embed(self, params, x, sequence):
        return x + x.mean(axis=0, keepdims=True)


@dataclasses.dataclass(frozen=True, eq=False)
class Identity(PositionalEncoding):
    """Compared by identity: every new one is another program."""


@dataclasses.dataclass(frozen=True)
class DoubleParameters(PositionalEncoding):
    """Parameters in NumPy's default type, float64."""

    def init(self, key, dims):
        return {"u": np.ones(dims.head_dim)}

    def encode_queries(self, params, q, positions, length):
        return q + params["u"].astype(q.dtype)


@dataclasses.dataclass(frozen=True)
class TermsAcrossTokens(PositionalEncoding):
    """Sums over the tokens of one call, kept as if each token had its own."""

    def token_terms(self, params, x, sequence):
        return jnp.cumsum(x[..., :1], axis=1)

    def content_bias(self, params, q, k, geometry, terms):
        return jnp.zeros_like(q[..., :1]) + terms[:, None, None, :, 0]


@dataclasses.dataclass(frozen=True)
class NeighboursInTheChunk(PositionalEncoding):
    """Counts the tokens above 7 so far, but only those of one call."""

    position_axes = "any"

    def map_positions(self, sequence, *, key, train):
        return jnp.cumsum(sequence.tokens > 7, axis=1, dtype=jnp.int32)


@dataclasses.dataclass(frozen=True)
class Unmasked(PositionalEncoding):
    """A softmax over all keys."""

    def normalize(self, params, logits, geometry):
        return jax.nn.softmax(logits, axis=-1)


@dataclasses.dataclass(frozen=True)
class Raises(PositionalEncoding):
    """Written for as many queries as keys."""

    def bias(self, params, geometry):
        return jnp.zeros((geometry.num_heads, *np.broadcast_shapes(geometry.q_places.shape, geometry.k_places.shape)))


@dataclasses.dataclass(frozen=True)
class MisnamedFrozen(Root):
    """Freezes a parameter that it does not have."""

    frozen = frozenset({"slope"})


@dataclasses.dataclass(frozen=True)
class ClaimsDistance(PositionalEncoding):
    """A bias of both positions, said to be one of their distance."""

    bias_of_distance = True

    def bias(self, params, geometry):
        q, k = (jnp.asarray(p)[:, None].astype(jnp.float64) for p in (geometry.q_positions, geometry.k_positions))
        return jnp.broadcast_to(-jnp.sqrt(q[..., None] * k[:, :, None, :] + 1), _pairs(geometry))


def _pairs(geometry):
    return 1, geometry.num_heads, geometry.q_positions.shape[1], geometry.k_positions.shape[1]


@dataclasses.dataclass(frozen=True)
class OtherFactors(PositionalEncoding):
    """ALiBi, whose factors forget that heads differ."""

    num_factors = 1

    def bias(self, params, geometry):
        return ALiBi().bias(params, geometry)

    def factors(self, params, q, k, geometry, terms):
        phi, psi = ALiBi().factors(params, q, k, geometry, terms)
        return phi[:, :1], psi


@dataclasses.dataclass(frozen=True)
class TooManyFactors(OtherFactors):
    """Two are announced."""

    num_factors = 2

    def factors(self, params, q, k, geometry, terms):
        return ALiBi().factors(params, q, k, geometry, terms)


@dataclasses.dataclass(frozen=True)
class ClaimsFixedFactors(ALiBi):
    """ALiBi with learned slopes, of which it says that nobody asks for their gradients."""

    learned: bool = True
    fixed_factors = True


FAULTS = [
    (ArrayIndex(), "cached_decoding"),
    (QueriesAreLast(), "jit"),
    (FutureLeak(), "causality"),
    (PositionsInBfloat16(), "precision"),
    (Upcast(), "dtype"),
    (SingleBias(), "dtype"),
    (ClaimsShift(), "shift"),
    (Root(), "gradients"),
    (FlippedWhenContiguous(), "blocks"),
    (FlippedWhenContiguous(), "jit"),
    (FlippedOnTheHost(), "jit"),
    (OverLastPosition(), "padding"),
    (PaddedLength(), "jit"),
    (PlaceInStorage(), "packing"),
    (LongestLength(), "packing"),
    (MixesRows(), "vmap"),
    (Identity(), "value"),
    (Identity(), "recompile"),
    (DoubleParameters(), "parameters"),
    (MisnamedFrozen(), "parameters"),
    (TermsAcrossTokens(), "cached_decoding"),
    (NeighboursInTheChunk(), "cached_decoding"),
    (Unmasked(), "causality"),
    (Unmasked(), "padding"),
    (Raises(), "causality"),
    (ClaimsDistance(), "fused"),
    (OtherFactors(), "fused"),
    (TooManyFactors(), "fused"),
    (ClaimsFixedFactors(), "fused"),
]


@pytest.mark.parametrize(("encoding", "clause"), FAULTS, ids=lambda value: str(value).removesuffix("()"))
def test_faults_are_found(encoding, clause):
    with pytest.raises(ContractError, match=rf"{type(encoding).__name__}.*breaks its contract:\n  {clause}: failed"):
        check_contract(encoding, only=(clause,))


@dataclasses.dataclass(frozen=True)
class Misspelt(PositionalEncoding):
    """Reads a parameter that it does not have."""

    def bias(self, params, geometry):
        return params["nope"] * geometry.relative


@dataclasses.dataclass(frozen=True)
class MisspeltTerms(PositionalEncoding):
    """The same where tokens are read."""

    def token_terms(self, params, x, sequence):
        return params["nope"] * x

    def content_bias(self, params, q, k, geometry, terms):
        return q @ k.swapaxes(-1, -2)


@pytest.mark.parametrize(("encoding", "hook"), [(Misspelt(), "bias"), (MisspeltTerms(), "token_terms")])
def test_code_that_raises_is_told_once_with_its_line(encoding, hook):
    with pytest.raises(ContractError) as failed:
        check_contract(encoding)
    name = type(encoding).__name__
    line, said, way_out = str(failed.value).splitlines()
    assert line.startswith(name)
    assert line.endswith(" breaks its contract:")
    assert re.fullmatch(rf"  own code: failed \(test_contract_faults.py, line \d+, in {hook}: KeyError: 'nope'\)", said)
    assert way_out == "    mend it, then check again: no clause can be asked before it runs"


def test_a_declared_break_must_be_real():
    class Declared(ClaimsShift):
        breaks = frozenset({"shift", "causality"})

    broken, kept = contract_clauses(Declared(), only=("shift", "causality"))
    assert (broken.status, broken.detail) == ("passed", "fails, as `breaks` says")
    assert broken.error > 1e-3
    assert kept.status == "failed"
    assert "it holds, although `breaks` names it" in str(kept)


@dataclasses.dataclass(frozen=True)
class Single(PositionalEncoding):
    """Embeddings of another type than they had."""

    def embed(self, params, x, sequence):
        return x.astype(jnp.float32)


@pytest.mark.parametrize(
    ("encoding", "clause", "words"),
    [
        (
            DoubleParameters(),
            "parameters",
            ["DoubleParameters.init's array ['u'], float64[8], is not float32", "jnp.zeros(dims.num_heads)"],
        ),
        (
            Single(),
            "dtype",
            [
                "for inputs of bfloat16 Single.embed returns bfloat16, and here an array of float32[2, 8, 32]",
                "(x.dtype)",
            ],
        ),
        (ClaimsShift(), "shift", ["say shift_invariant = False"]),
        (Raises(), "causality", ["let a row read keys up to its own only"]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_failure_names_the_array_its_type_and_the_way_out(encoding, clause, words):
    with pytest.raises(ContractError) as failed:
        check_contract(encoding, only=(clause,))
    assert [word for word in words if word not in str(failed.value)] == []


def test_a_tuple_is_named_by_its_encodings():
    with pytest.raises(ContractError, match=r"^RoPE\(.*\) \| MisnamedFrozen\(\) breaks its contract:\n"):
        check_contract((RoPE(), MisnamedFrozen()), only=("parameters",))
