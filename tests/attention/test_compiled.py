"""The kernel compiled for an H100 that is not there, where NVIDIA's plugin for JAX is installed."""

import importlib.util
import re

import jax
import jax.numpy as jnp
import pytest

from posenc_jax.attention import attend
from posenc_jax.attention.kernel import ON_GPU
from posenc_jax.encodings import Dims, Geometry, init_slot, layer_params, parse

# What XLA must know of the chip.
H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800
  clock_rate_ghz: 1.98 device_memory_size: 84942979072 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 } registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 8 } device_description_str: "NVIDIA H100 80GB HBM3"
"""
KERNEL = {"triton": "__gpu$xla.gpu.triton", "mosaic": "mosaic_gpu_v2"}[ON_GPU]
DIMS = Dims(d_model=64, num_heads=8, num_kv_heads=4, head_dim=64, num_layers=1, max_len=2**15)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("jax_cuda12_plugin") is None, reason="jax[cuda12] is not installed"),
]


def compiled(spec, length, dtype):
    """Value and all gradients of causal attention."""
    from jax.experimental import topologies

    topology = topologies.get_topology_desc("", platform="cuda", target_config=H100, topology="1x1x1")
    sharding = jax.sharding.SingleDeviceSharding(topology.devices[0])
    encodings, geometry = parse(spec), Geometry.of_length(length, num_heads=8, causal=True)

    def loss(q, k, v, params):
        return attend(q, k, v, encodings, params, geometry).astype(jnp.float32).sum()

    params = jax.eval_shape(lambda: layer_params(encodings, init_slot(jax.random.key(0), encodings, DIMS), 0))
    sides = [jax.ShapeDtypeStruct((1, heads, length, 64), dtype) for heads in (8, 4, 4)]
    arguments = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding), (*sides, params))
    with jax.sharding.use_abstract_mesh(jax.sharding.Mesh(topology.devices[:1], ("x",)).abstract_mesh):
        return jax.jit(jax.grad(loss, (0, 1, 2, 3))).lower(*arguments).compile()


@pytest.mark.parametrize(
    ("spec", "dtype", "targets"),
    [
        ("rope", jnp.bfloat16, {"__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward"}),
        ("alibi|rope", jnp.bfloat16, {"__cudnn$fmhaSoftmax", "__cudnn$fmhaSoftmaxBackward"}),
        ("alibi(learned=True)|rope", jnp.bfloat16, {KERNEL}),
        ("t5|rope", jnp.bfloat16, {KERNEL}),
        ("kerple", jnp.float32, {KERNEL}),
    ],
)
def test_fused_is_fused_and_memory_grows_with_the_length_alone(spec, dtype, targets):
    half, whole = (compiled(spec, length, dtype) for length in (8192, 16384))
    assert set(re.findall(r'custom_call_target="([^"]+)"', whole.as_text())) == targets
    assert whole.memory_analysis().temp_size_in_bytes <= 2.2 * half.memory_analysis().temp_size_in_bytes
