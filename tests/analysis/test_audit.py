"""The audit's measurements, against loops and against encodings with one fault each."""

import dataclasses
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.analysis import audit, cost
from posenc_jax.analysis.distinctness import POSITIONS, distinctness, nearest_alias, nearest_pair, norm_drift
from posenc_jax.analysis.invariance import SHIFTS, LayerProgram, beyond, shift_errors
from posenc_jax.analysis.layer import DIMS, AttentionLayer
from posenc_jax.encodings import ALiBi, PositionalEncoding, RoPE, elements, init_slot, parse


@dataclasses.dataclass(frozen=True)
class FutureLeak(PositionalEncoding):
    """Keys compared with the mean of all keys, later ones too."""

    def content_bias(self, params, q, k, geometry, terms):
        return jnp.einsum("bhkd,bhd->bhk", k, k.mean(axis=2))[:, :, None] + 0 * q[..., :1]


@dataclasses.dataclass(frozen=True)
class Repeats(PositionalEncoding):
    """The same rows every 32 positions."""

    def embed(self, params, x, sequence):
        angles = jnp.asarray(sequence.positions % 32)[..., None] * np.linspace(0.03, 0.2, x.shape[-1] // 2)[None, None]
        return x + jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class Absolute(ALiBi):
    """A product of positions, which claims to know distances only."""

    def bias(self, params, geometry):
        q, k = (jnp.asarray(a).astype(float) for a in (geometry.q_positions, geometry.k_positions))
        bias = 1e-6 * q[:, None, :, None] * k[:, None, None, :]
        return jnp.repeat(bias, geometry.num_heads, axis=1)


@dataclasses.dataclass(frozen=True)
class Float32Angles(PositionalEncoding):
    """Rotations by float32 products, right at small positions."""

    shift_invariant = True

    def encode_queries(self, params, q, positions, length):
        frequencies = np.array(10000.0 ** (-2 * np.arange(q.shape[-1] // 2) / q.shape[-1]), np.float32)
        angles = jnp.asarray(positions).astype(np.float32)[:, None, :, None] * frequencies[None, None, None]
        a, b = jnp.split(q.astype(np.float32), 2, axis=-1)
        sin, cos = jnp.sin(angles), jnp.cos(angles)
        return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1).astype(q.dtype)

    encode_keys = encode_queries


@dataclasses.dataclass(frozen=True)
class Grows(PositionalEncoding):
    """Keys that are longer at later positions."""

    def encode_keys(self, params, k, positions, length):
        growth = 1 + 0.001 * jnp.asarray(positions)[:, None, :, None]
        return (k * growth).astype(k.dtype)


@dataclasses.dataclass(frozen=True)
class TwoSets(PositionalEncoding):
    """A learned and a frozen parameter in every layer."""

    per_layer = True
    frozen = frozenset({"fixed"})

    def init(self, key, dims):
        return {"slopes": jnp.ones(dims.num_heads), "fixed": {"a": jnp.zeros((3, 5))}}

    def bias(self, params, geometry):
        return params["slopes"][None, :, None, None] * (geometry.relative == 0)[:, None]


def layer(text):
    return AttentionLayer(audit.measured(parse(text) if isinstance(text, str) else (text,)))


def vectors(encoding):
    found = layer(encoding)
    return distinctness(found, audit.MODEL, lambda: init_slot(jax.random.key(0), found.encodings, audit.MODEL))


def test_shift_errors():
    exact = shift_errors(LayerProgram(layer("rope")))
    assert list(exact["float32"]) == [str(shift) for shift in SHIFTS]
    assert max(exact["float32"].values()) < 2e-6
    assert 1e-3 < max(exact["bfloat16"].values()) < 0.1

    rounded = shift_errors(LayerProgram(layer(Float32Angles())))["float32"]
    assert rounded["1000"] < 1e-3 < rounded["1000000"]

    # The bias of two keys d apart grows by shift * d; d is 15 at most.
    moved = shift_errors(LayerProgram(layer(Absolute())))["float32"]
    assert moved["1000"] == pytest.approx(1e-6 * 1000 * 15, rel=1e-3)
    assert moved["10000"] == pytest.approx(1e-6 * 10000 * 15, rel=1e-3)


def test_shifts_of_values_count():
    @dataclasses.dataclass(frozen=True)
    class InValues(PositionalEncoding):
        def value_term(self, params, weights, geometry):
            rows = jnp.ones((1, geometry.num_heads, 1, DIMS.head_dim)) * geometry.q_positions[:, None, :, None]
            return 1e-3 * rows

    assert shift_errors(LayerProgram(layer(InValues())))["float32"]["1000"] == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("rope", "extrapolates"),
        ("alibi", "extrapolates"),
        ("t5", "clamps"),
        ("shaw", "clamps"),
        ("learned", "error; nan if traced"),
        ("learned(beyond='nan')", "nan"),
        ("learned(beyond='clamp')", "clamps"),
        ("learned(beyond='interpolate')", "rescales"),
        ("rope(scaling=dynamic_ntk(factor=2, original_length=1024))", "rescales"),
        ("xpos", "nan at 1e5"),
        ("cope", None),
        ("grid(width=8)|axial_rope", "extrapolates"),  # positions of two axes
    ],
)
def test_beyond(text, word):
    assert beyond(LayerProgram(layer(text))) == word


def test_repeated_rows_are_seen():
    found = vectors(Repeats())
    assert found.distance["float32"] == 0
    first, second = found.pair["float32"]
    assert (second - first) % 32 == 0
    assert found.alias[0] % 32 == 0
    assert found.alias[1] == pytest.approx(1)


def test_rotations_are_told_apart_as_their_kernel_says():
    found = vectors("rope")
    frequencies = 10000.0 ** (-2 * np.arange(16) / 32)
    kernel = np.array([np.mean([np.cos(offset * w) for w in frequencies]) for offset in range(POSITIONS)])
    # |R(i) - R(j)|^2 = 2 - 2 kernel, relative to the norm of a rotation.
    assert found.distance["float32"] == pytest.approx(np.sqrt(2 - 2 * kernel[1:].max()), rel=1e-4)
    assert found.distance["float32 from 1000000"] == pytest.approx(found.distance["float32"], rel=1e-4)
    end = next(i for i in range(POSITIONS) if kernel[i + 1] > kernel[i])
    alias = end + 1 + int(kernel[end + 1 :].argmax())
    assert found.alias == (alias, pytest.approx(kernel[alias], abs=1e-4))
    assert found.norm_drift["float32"] < 1e-6
    assert 1e-4 < found.norm_drift["bfloat16"] < 0.01


def test_norms_that_grow():
    found = vectors(Grows())
    mean = 1 + 0.001 * (POSITIONS - 1) / 2
    assert found.norm_drift["float32"] == pytest.approx((1 + 0.001 * (POSITIONS - 1)) / mean - 1, rel=1e-3)


@pytest.mark.parametrize(
    "text",
    ["alibi", "randomized|rope", "cope", "abacus(digits=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10))|learned"],
)
def test_no_vectors_of_positions(text):
    assert vectors(text) is None


def test_nearest_pair_and_norms_in_loops():
    rng = np.random.default_rng(0)
    a = rng.normal(size=(40, 6)).astype(np.float32)
    a[31] = a[7] + 1e-4
    distances = {(i, j): np.linalg.norm(a[i] - a[j]) for i in range(40) for j in range(i + 1, 40)}
    pair = min(distances, key=distances.get)
    scale = np.mean([np.linalg.norm(row) for row in a])
    assert nearest_pair(a) == (pytest.approx(distances[pair] / scale, rel=1e-3), pair)
    norms = [np.linalg.norm(row) for row in a]
    assert norm_drift(a[:, None]) == pytest.approx(max(abs(n / np.mean(norms) - 1) for n in norms))
    a[3] = np.nan
    assert np.isnan(nearest_pair(a)[0])
    assert np.isnan(norm_drift(a[:, None]))


def test_an_alias_lies_outside_the_main_lobe():
    falling = np.stack([np.cos(np.linspace(0, 1, 20)), np.sin(np.linspace(0, 1, 20))], axis=1).astype(np.float32)
    assert nearest_alias(falling, falling) is None
    turning = np.stack([np.cos(np.arange(20)), np.sin(np.arange(20))], axis=1).astype(np.float32)
    assert nearest_alias(turning, turning) == (19, pytest.approx(np.cos(19), abs=1e-5))


def test_parameters_are_counted_in_all_layers():
    dims = dataclasses.replace(audit.MODEL, num_layers=3)
    slot = (TwoSets(), *parse("learned"))
    shapes = jax.eval_shape(lambda: init_slot(jax.random.key(0), slot, dims))
    assert cost.num_parameters(elements(slot), shapes) == (3 * 4 + 1024 * 128, 3 * 15)


def test_time_is_relative_to_attention_alone():
    now = 0.0

    def taking(seconds):
        def program():
            nonlocal now
            now += seconds

        return cost.CompiledCall(program, (), 0)

    ratio, seconds = cost.time_ratio(taking(0.003), taking(0.002), lambda: now)
    assert ratio == pytest.approx(1.5)
    assert seconds == pytest.approx(0.003)
    assert now == pytest.approx(16 * 0.005)
    # A slow one is timed a few times only.
    now = 0.0
    assert cost.time_ratio(taking(10.0), taking(0.002), lambda: now)[0] == pytest.approx(5000)
    assert now < 31


def test_a_leak_is_found_and_named():
    found = audit.audit((FutureLeak(),))
    assert found["causality"] > 1e-3
    assert found["verdict"].startswith("fails ")
    assert "causality" in found["verdict"]
    assert found["clauses"]["causality"]["status"] == "failed"
    assert found["shift"]["float32"]["1000000"] == 0
    assert "timing" not in found


def test_a_failed_clause_is_kept_with_its_size():
    assert re.match(r"by \d\.\de[+-]\d+ \(by 1", audit.audit((Absolute(),))["clauses"]["shift"]["detail"])


def test_what_raises_is_told():
    @dataclasses.dataclass(frozen=True)
    class Short(RoPE):
        def encode_keys(self, params, k, positions, length):
            if positions.shape[1] > 100:
                raise RuntimeError("too long for me")
            return k

    found = audit.audit((Short(),))
    assert found["problems"] == [
        "distinctness: RuntimeError: too long for me",
        "attention: RuntimeError: too long for me",
    ]
    assert found["distance"] is None
    assert found["temporaries"] is None
    assert found["shift"] is not None


def test_record_of_a_kept_contract():
    found = audit.audit(parse("fox|rope"))
    json.dumps(found, allow_nan=False)
    assert found["verdict"] == "kept (14/14), breaks blocks by nature"
    assert found["acts_on"] == ["encode_queries", "encode_keys", "token_terms", "content_bias"]
    assert found["parameters"] == {"learned": 4 * (128 * 4 + 4), "frozen": 0}
    assert len(found["clauses"]) == 15
    assert {clause["status"] for clause in found["clauses"].values()} == {"passed"}
    assert found["problems"] == []


def test_what_is_measured_of_a_slot():
    assert audit.measured(parse("randomized")) == parse("randomized|rope")
    assert audit.measured(parse("nope/rope/alibi")) == parse("rope")
    assert audit.measured_layers(parse("nope/rope/alibi/rope")) == (parse("rope"), parse("alibi"))
    assert audit.measured(()) == ()
    with pytest.raises(ValueError, match="raise max_len to 1024"):
        audit.measured(parse("learned(64)"))


def test_all_layers_of_a_pattern_keep_the_contract():
    record = audit.audit((parse("rope"), (FutureLeak(),), parse("fire")))
    assert "causality" in record["verdict"]
    assert record["clauses"]["causality"]["status"] == "failed"
    assert record["causality"] > 1e-3
    assert record["problems"] == []
