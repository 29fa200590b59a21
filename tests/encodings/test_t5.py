import dataclasses
import functools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from initial import initial
from sides import geometry_at

from posenc_jax.encodings.additive.t5 import T5Bias, bucket_starts, t5_buckets
from posenc_jax.encodings.interface.attention import attend
from posenc_jax.encodings.interface.base import Dims, Geometry

DIMS = Dims(d_model=16, num_heads=3, num_kv_heads=3, head_dim=4, num_layers=1, max_len=16)
BIDIRECTIONAL_STARTS = {8: 8, 12: 9, 16: 10, 23: 11, 32: 12, 46: 13, 64: 14, 91: 15}
CAUSAL_STARTS = {
    **{16: 16, 19: 17, 21: 18, 24: 19, 27: 20, 31: 21, 35: 22, 40: 23, 46: 24, 52: 25, 59: 26, 67: 27, 77: 28},
    **{87: 29, 99: 30, 113: 31},
}


def bucket(relative, num_buckets, max_distance, bidirectional):
    """The definition of section 2.1, with the logarithm in float64."""
    first = 0
    if bidirectional:
        num_buckets //= 2
        first = num_buckets if relative > 0 else 0
        distance = abs(relative)
    else:
        distance = max(-relative, 0)
    exact = num_buckets // 2
    if distance < exact:
        return first + distance
    growth = math.log(distance / exact) / math.log(max_distance / exact) * (num_buckets - exact)
    # Distances at which the logarithm is a whole number by construction must not fall below it by rounding.
    return first + min(exact + math.floor(growth + 1e-12), num_buckets - 1)


@pytest.mark.parametrize(("bidirectional", "starts"), [(True, BIDIRECTIONAL_STARTS), (False, CAUSAL_STARTS)])
def test_published_buckets(bidirectional, starts):
    past = np.arange(0, 300)
    got = t5_buckets(-past, bidirectional=bidirectional)
    exact = 8 if bidirectional else 16
    np.testing.assert_array_equal(got[:exact], past[:exact])
    assert {int(n): int(got[n]) for n in past[exact:] if got[n] != got[n - 1]} == starts
    assert got[-1] == (15 if bidirectional else 31)
    future = t5_buckets(past, bidirectional=bidirectional)
    if bidirectional:
        np.testing.assert_array_equal(future[1:], 16 + got[1:])
        assert 16 not in future  # distance 0 belongs to the first half
    else:
        assert not future.any()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (8, 32), (4, 3), (32, 20), (64, 4096), (6, 100)])
def test_buckets_are_the_definition(num_buckets, max_distance, bidirectional):
    relative = np.arange(-5000, 5001, dtype=np.int32)
    want = [bucket(int(r), num_buckets, max_distance, bidirectional) for r in relative]
    on_host = t5_buckets(relative, num_buckets, max_distance, bidirectional=bidirectional)
    assert isinstance(on_host, np.ndarray)
    assert on_host.dtype == np.int32
    np.testing.assert_array_equal(on_host, want)
    on_device = jax.jit(lambda r: t5_buckets(r, num_buckets, max_distance, bidirectional=bidirectional))(relative)
    assert on_device.dtype == jnp.int32
    np.testing.assert_array_equal(on_device, want)


def test_a_fractional_distance_counts_as_the_whole_one_below():
    relative = np.array([-0.5, -1.0, -22.9, -23.0, 0.5, 22.9, 23.0])
    want = [0, 1, 10, 11, 16, 26, 27]
    assert t5_buckets(relative, bidirectional=True).tolist() == want
    assert t5_buckets(jnp.asarray(relative), bidirectional=True).tolist() == want


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("first_query", "num_queries", "num_keys"), [(0, 5, 5), (40, 3, 50), (7, 1, 4)])
def test_bias_and_gradient_are_the_definition(causal, first_query, num_queries, num_keys):
    encoding = T5Bias(8, 20)
    rng = np.random.default_rng(0)
    table, weights = rng.normal(size=(3, 8)), rng.normal(size=(1, 3, num_queries, num_keys))
    q_positions = np.arange(first_query, first_query + num_queries, dtype=np.int32)[None]
    k_positions = np.arange(num_keys, dtype=np.int32)[None]
    want, want_gradient = np.zeros(weights.shape), np.zeros(table.shape)
    for _, h, i, j in np.ndindex(weights.shape):
        row = bucket(int(k_positions[0, j] - q_positions[0, i]), 8, 20, not causal)
        want[0, h, i, j] = table[h, row]
        want_gradient[h, row] += weights[0, h, i, j]
    with jax.enable_x64(True):
        for contiguous in (False, True):

            def both(table, q, k, contiguous=contiguous):
                def loss(table):
                    bias = encoding.bias({"table": table}, geometry_at(q, k, causal=causal, contiguous=contiguous))
                    return (bias * weights).sum(), bias

                return jax.grad(loss, has_aux=True)(table)

            known = jax.jit(functools.partial(both, q=q_positions, k=k_positions))
            for gradient, bias in (known(table), jax.jit(both)(table, q_positions, k_positions)):
                np.testing.assert_allclose(bias, want, atol=1e-15)
                np.testing.assert_allclose(gradient, want_gradient, atol=1e-12)


def test_a_batch_has_the_gradient_of_its_rows_together():
    """`attend` spreads one bias over the rows in a way of its own, for the sake of this gradient."""
    encoding, geometry = T5Bias(8, 20), Geometry.of_length(5, num_heads=3, causal=True)
    rng = np.random.default_rng(0)

    @jax.jit
    def gradient(table, q, k, v, weights):
        out = lambda table: attend(q, k, v, (encoding,), ({"table": table},), geometry)  # noqa: E731
        return jax.grad(lambda table: (out(table) * weights).sum())(table)

    with jax.enable_x64(True):
        table, arrays = jnp.asarray(rng.normal(size=(3, 8))), jnp.asarray(rng.normal(size=(4, 2, 3, 5, 4)))
        rows = [gradient(table, *arrays[:, b : b + 1]) for b in range(2)]
        assert np.abs(rows[0] - rows[1]).max() > 0.01
        np.testing.assert_allclose(gradient(table, *arrays), rows[0] + rows[1], atol=1e-12)


def test_no_program_holds_a_product_of_queries_keys_and_buckets():
    """Contiguous positions read the table once per distance, others once per pair; buckets are no axis of any array."""
    geometry = Geometry.of_length(64, num_heads=3, causal=True)
    for seen, reads in ((geometry, "127x"), (dataclasses.replace(geometry, contiguous=False), "4096x")):

        def loss(table, q_positions, seen=seen):
            return T5Bias(34, 128).bias({"table": table}, seen.at(q_positions, seen.k_positions)).sum()

        program = jax.jit(jax.value_and_grad(loss)).lower(np.ones((3, 34), np.float32), np.arange(64)[None]).as_text()
        (gather,) = [line for line in program.splitlines() if "stablehlo.gather" in line and "x34xf32" in line]
        assert reads in gather
        assert not re.search(r"(64x64|4096)x34x", program)


@pytest.mark.parametrize("scaled", [True, False])
def test_the_scale_of_logits(scaled):
    encoding = T5Bias(4, 3, scaled=scaled)
    q, k = np.random.default_rng(0).normal(size=(2, 1, 3, 3, 16)).astype(np.float32)
    geometry = Geometry.of_length(3, num_heads=3, causal=True)
    params = initial(encoding, DIMS)
    bias = np.asarray(encoding.bias(params, geometry))[0]
    logits = np.einsum("hqd,hkd->hqk", q[0], k[0]) / (4 if scaled else 1) + bias
    logits = np.where(np.tri(3, dtype=bool), logits, -np.inf)
    want = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    _, weights = attend(q, k, k, (encoding,), (params,), geometry, return_weights=True)
    np.testing.assert_allclose(weights[0], want, rtol=2e-5, atol=2e-5)
    assert ("encode_queries" in encoding.acts_on) != scaled


def test_undefined_buckets_are_refused():
    with pytest.raises(ValueError, match="1 buckets for one direction: use at least 2"):
        t5_buckets(np.arange(3), 2, 128, bidirectional=True)
    with pytest.raises(ValueError, match=r"max_distance = 8 must exceed 8.*raise max_distance or lower num_buckets"):
        bucket_starts(16, 8)
