"""cuDNN's fused attention, as JAX offers it: float16 and bfloat16 on NVIDIA's GPUs, and no array over pairs."""

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.attention import Prepared
from posenc_jax.encodings.interface.base import Array

LARGEST_HEAD = 128  # dimensions, on every GPU that has it; a multiple of 8


def cudnn(call: Prepared) -> Array:
    """``[B, H, Q, D]`` of a call without biases and other hooks than those on queries and keys, whose segments say no
    more than how long each row is.

    The mask is told in words: causal, a window into the past, lengths of rows. Fewer dimensions than a multiple of 8,
    or of values than of keys, are filled up with zeros.
    """
    geometry, of_values = call.geometry, call.v.shape[3]
    dims = -(-max(call.q_encoded.shape[3], of_values) // 8) * 8

    def pad(x: Array) -> Array:
        return jnp.swapaxes(jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, dims - x.shape[3]))), 1, 2)

    def lengths(segments: Array | None, size: int) -> Array | None:
        if geometry.k_segments is None:
            return None
        real = np.full((1,), size, np.int32) if segments is None else jnp.sum(segments != 0, axis=1, dtype=jnp.int32)
        return jnp.broadcast_to(real, (len(call.q),))

    out = jax.nn.dot_product_attention(
        pad(call.q_encoded),
        pad(call.k_encoded),
        pad(call.v),
        scale=call.scale,
        is_causal=geometry.causal,
        query_seq_lengths=lengths(geometry.q_segments, call.q.shape[2]),
        key_value_seq_lengths=lengths(geometry.k_segments, call.k.shape[2]),
        local_window_size=None if geometry.window is None else (geometry.window - 1, 0),
        implementation="cudnn",
    )
    return jnp.swapaxes(out, 1, 2)[..., :of_values]
