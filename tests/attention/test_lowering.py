"""The kernel lowers for chips that are not there. Whether it compiles and fits takes their compilers."""

import re
import sys
import warnings

import jax
import jax.numpy as jnp
import pytest
from compiling.programs import traced_for

from posenc_jax.attention.kernel import ON_GPU
from posenc_jax.attention.kernel_call import attention_by_distance

TARGETS = {"cuda": {"triton": "__gpu$xla.gpu.triton", "mosaic": "mosaic_gpu_v2"}[ON_GPU], "tpu": "tpu_custom_call"}


def shape(*sizes, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(sizes, dtype)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float32], ids=str)
@pytest.mark.parametrize("platform", TARGETS)
def test_value_and_gradients_are_kernels_and_nothing_is_over_all_pairs(platform, dtype, monkeypatch):
    tokens = 1000

    def loss(q, k, v, table, segments):
        return attention_by_distance(
            q,
            k,
            v,
            table,
            backend=ON_GPU if platform == "cuda" else "tpu",
            scale=0.125,
            causal=True,
            window=300,
            segments=(segments, segments),
        ).sum()

    arguments = (
        shape(2, 8, tokens, 64, dtype=dtype),
        *(shape(2, 4, tokens, 64, dtype=dtype),) * 2,
        shape(8, 2 * tokens - 1, dtype=jnp.float32),
        shape(2, tokens, dtype=jnp.int32),
    )
    allowed = [jax.export.DisabledSafetyCheck.custom_call(target) for target in TARGETS.values()]
    program = jax.jit(jax.grad(loss, (0, 1, 2, 3)))
    if ON_GPU == "mosaic":  # the day that Triton is removed
        monkeypatch.setitem(sys.modules, "jax.experimental.pallas.triton", None)
    with traced_for(platform), warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        text = jax.export.export(program, platforms=[platform], disabled_checks=allowed)(*arguments).mlir_module()
    called = re.findall(r"stablehlo\.custom_call @(\S+?)\(", text)
    assert called.count(TARGETS[platform]) == 4  # forward; backward of queries, of keys, of the table
    assert not re.search(r"tensor<[0-9x]*10(00|24)x10(00|24)x", text)
