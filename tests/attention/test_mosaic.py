"""The kernel as Mosaic GPU has it, interpreted: shared memory with a detector of races, and NaN where nobody wrote."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from calls import assert_agree, noise, result
from test_kernel import SHAPES, on, small_tiles  # noqa: F401  tiles of 16

from posenc_jax.attention.kernel_call import attention_by_distance
from posenc_jax.encodings import parse

pytestmark = pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="before JAX 0.12 GPUs get the kernel by Triton")

# Two replicas of 24 queries and 40 keys, which start 16 places before them: [replica, row, head, token, dimension].
QUERIES, KEYS = 24, 40
SEGMENTS = np.repeat([0, 1, 2], [18, 8, 14])[None].astype(np.int32)


def strict():
    from jax.experimental.pallas import mosaic_gpu

    return mosaic_gpu.InterpretGPUParams(detect_races=True, uninitialized_memory="nan")


def attended(backend, interpret, dtype, queries, keys, values, table, phi, psi):
    """One replica, with everything that the kernel can do at once."""
    return attention_by_distance(
        *(x.astype(dtype) for x in (queries, keys, values)),
        table,
        columns=((phi, psi),),
        backend=backend,
        scale=0.35,
        causal=True,
        window=20,
        first=KEYS - QUERIES,
        segments=(SEGMENTS[:, KEYS - QUERIES :], SEGMENTS),
        interpret=interpret,
    ).astype(jnp.float32)


@pytest.mark.parametrize(
    ("dtype", "limit"), [(jnp.float32, 2e-6), pytest.param(jnp.bfloat16, 1e-3, marks=pytest.mark.slow)], ids=str
)
def test_replicas_with_one_table_get_what_pallas_blocks_give(dtype, limit):
    """Values and all gradients of the same body; in bfloat16 both round the same numbers."""
    each = noise(2, 1, 2, QUERIES, 8), *(noise(2, 1, 1, KEYS, 8, seed=seed) for seed in (1, 2))
    gates = noise(2, 1, 2, QUERIES), noise(2, 1, 2, KEYS)
    arguments = [jnp.asarray(x, jnp.float32) for x in (*each, noise(2, QUERIES + KEYS - 1), *gates)]
    functional = noise(1, 2, QUERIES, 8, seed=5)

    def found(backend, interpret):
        def loss(*own):
            out = attended(backend, interpret, dtype, *own)
            return (out * functional).sum(), out

        one = jax.jit(jax.value_and_grad(loss, range(6), has_aux=True))  # traced before it is batched, as in training
        (_, out), gradients = jax.vmap(one, (0, 0, 0, None, 0, 0))(*arguments)
        return [out, *gradients]

    for got, want in zip(found("mosaic", strict()), found("triton", True), strict=True):
        assert np.abs(got - want).max() <= limit * np.abs(want).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "shape", "limit"),
    [
        *(("rope|t5", name, 1e-5) for name in SHAPES),
        ("fox(scaled=True)|grape_a|t5", "packed", 1e-5),
        # Gates and slopes together lose more to rounding: 2.2e-5 here, 1.1e-5 by Triton's form.
        ("fox(scaled=True)|grape_a|alibi", "packed", 4e-5),
        ("nope", "packed in a two-sided window", 1e-5),
    ],
)
def test_it_is_the_reference_in_every_shape(spec, shape, limit):
    encodings, shape = parse(spec), SHAPES[shape]
    got = result(encodings, shape, "kernel", compute=on("mosaic", strict()))
    assert_agree(got, result(encodings, shape, "dense"), limit)
