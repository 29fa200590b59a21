import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from calls import Shape, assert_agree, result, shapes

from posenc_jax.attention import Call, kernel, paths
from posenc_jax.attention.choice import facts
from posenc_jax.attention.kernel_call import bias_tiles
from posenc_jax.encodings import parse
from posenc_jax.encodings.interface.attention import prepare

SHAPES = {shape.name: shape for shape in shapes(37)}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """37 tokens make three blocks, the last of them not full."""
    monkeypatch.setattr(kernel, "TILES", dict.fromkeys(kernel.TILES, 16))


def on(backend, interpret=True):
    """`attend` along a path, as if for that backend, interpreted."""

    def compute(*args, path):
        call = prepare(*args)
        facts = Call.of(call)
        of_table, of_columns = paths.in_table(call.encodings, facts), paths.in_columns(call.encodings, facts)
        assert {*of_table, *of_columns} >= {*paths.in_factors(call.encodings, facts)}
        columns = paths.columns(call, of_columns)
        return paths.by_distance(call, of_table, columns, backend, interpret=interpret)

    return compute


QUICK = ("packed", "cross")


@pytest.mark.parametrize(
    "shape", [s if s.name in QUICK else pytest.param(s, marks=pytest.mark.slow) for s in SHAPES.values()], ids=str
)
def test_the_kernel_is_the_reference_in_every_shape(shape):
    encodings = parse("rope|t5")
    want = result(encodings, shape, "dense")
    assert_agree(result(encodings, shape, "kernel"), want, 1e-5)


@pytest.mark.parametrize(
    ("spec", "shape"),
    [
        ("alibi(learned=True)", "last queries"),
        ("log_cpb(window=(9,))|kerple|rope", "packed in a two-sided window"),
        pytest.param("nope", "packed", marks=pytest.mark.slow),
        pytest.param("sandwich(width=8)", "unmasked", marks=pytest.mark.slow),
        pytest.param("dynamic_bias|t5", "cross", marks=pytest.mark.slow),
        pytest.param("kerple(kernel='power')|rope", "windowed", marks=pytest.mark.slow),
    ],
)
def test_the_kernel_is_the_reference_on_a_tpu_with_every_bias_of_the_distance(spec, shape):
    encodings, shape = parse(spec), SHAPES[shape]
    assert_agree(result(encodings, shape, "kernel", compute=on("tpu")), result(encodings, shape, "dense"), 1e-5)


def test_bfloat16_is_within_its_roundings():
    """Weights, their gradients and outputs are each rounded once, by 2^-9 at most."""
    encodings, shape = parse("rope|t5"), SHAPES["packed"]
    assert_agree(result(encodings, shape, "kernel", jnp.bfloat16), result(encodings, shape, "dense", np.float32), 2**-6)


@pytest.mark.parametrize("backend", ["triton", "tpu"])
def test_gates_beside_a_table_are_columns(backend):
    encodings, shape = parse("fox(scaled=True)|grape_a|t5"), SHAPES["packed"]
    want = result(encodings, shape, "dense")
    assert_agree(result(encodings, shape, "kernel", compute=on(backend)), want, 1e-5)


@pytest.mark.parametrize("spec", ["fox", "grape_a(gate='query')|rope", "alibi(learned=True)"])
def test_in_bfloat16_gradients_of_gates_and_slopes_are_as_good_as_the_reference_has_them(spec):
    """They are differences of large sums: rounded before they are added up, little of them would be left."""
    encodings, shape = parse(spec), Shape("causal", 320, 320)

    def apart(path):
        found = result(encodings, shape, path, jnp.bfloat16).gradients["params"]
        for got, want in zip(jax.tree.leaves(found), wanted, strict=True):
            got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
            yield np.abs(got - want).max() / np.abs(want).max()

    wanted = jax.tree.leaves(result(encodings, shape, "dense", np.float32).gradients["params"])
    for ours, reference in zip(apart("kernel"), apart("dense"), strict=True):
        assert ours < max(2 * reference, 0.01)


@pytest.mark.parametrize("path", ["kernel", "dense", "blockwise"])
def test_packed_rows_have_one_matrix_of_distances(path):
    """Positions that begin anew in every segment: known or not, the same output and gradients."""
    encodings, shape = parse("rope|t5|dynamic_bias"), Shape("restarting", 37, 37, packed=True, restarts=True)
    geometry = shape.geometry()
    assert len(geometry.k_positions) == 2
    assert geometry.by_place().relative.shape == (1, 37, 37)
    unknown = dataclasses.replace(shape, restarts=False)
    assert_agree(result(encodings, shape, path), result(encodings, unknown, "dense"), 1e-5)
    assert paths.in_table(encodings, Call(1, 4, 4, 37, 37, 8, **facts(geometry))) == (1, 2)
    assert paths.in_table(encodings, Call(1, 4, 4, 37, 37, 8, **facts(unknown.geometry()))) == ()


def test_the_tile_of_a_block_diagonal():
    """Every pair of 3 blocks of queries and 2 of keys finds its distance in the tile of its diagonal."""
    table = np.arange(2 * 19.0).reshape(2, 19)
    tiles = np.asarray(bias_tiles(jnp.asarray(table), 4))
    assert tiles.shape == (2, 4, 4, 4)
    for i, j in np.ndindex(12, 8):
        assert tiles[1, j // 4 - i // 4 + 2, i % 4, j % 4] == table[1, j - i + 11]


def test_queries_that_see_nothing_get_zeros():
    shape = SHAPES["packed"]
    geometry = shape.geometry()
    q, k = np.ones((2, 4, 37, 8), np.float32), np.ones((2, 2, 37, 8), np.float32)
    out = np.asarray(on("triton")(q, k, k, (), (), geometry, path="kernel"))
    seen = np.broadcast_to(geometry.mask.any(-1)[..., None], out.shape)
    np.testing.assert_allclose(out, seen, atol=1e-6)
    assert facts(geometry)["segments"]
