"""The projections of attention; what happens between them is `posenc_jax.encodings.attention.attend`."""

from __future__ import annotations

import jax.numpy as jnp
from flax import nnx

from posenc_jax.encodings.attention import attend
from posenc_jax.encodings.base import Array
from posenc_jax.models.config import Transformer
from posenc_jax.models.positions import LayerEncodings


def linear(config: Transformer, inputs: int, outputs: int, *, use_bias: bool, rngs: nnx.Rngs) -> nnx.Linear:
    """``x W + b``, W drawn from a normal of variance ``1 / inputs`` truncated at two standard deviations, b zero; float32 parameters."""
    return nnx.Linear(
        inputs, outputs, use_bias=use_bias, dtype=config.compute_dtype, kernel_init=nnx.initializers.lecun_normal(), rngs=rngs
    )


class Attention(nnx.Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2), with fewer key heads than query heads if the config says so."""

    def __init__(self, config: Transformer, *, rngs: nnx.Rngs):
        self.head_dim = config.width_of_head
        queries, keys = config.num_heads * self.head_dim, config.kv_heads * self.head_dim
        bias = config.attention_bias
        self.query = linear(config, config.d_model, queries, use_bias=bias, rngs=rngs)
        self.key = linear(config, config.d_model, keys, use_bias=bias, rngs=rngs)
        self.value = linear(config, config.d_model, keys, use_bias=bias, rngs=rngs)
        self.output = linear(config, queries, config.d_model, use_bias=bias, rngs=rngs)

    def _heads(self, x: Array) -> Array:
        batch, size, width = x.shape
        return jnp.swapaxes(x.reshape(batch, size, width // self.head_dim, self.head_dim), 1, 2)

    def keys_values(self, x: Array) -> tuple[Array, Array]:
        """Raw keys and values ``[B, Hkv, K, D]`` of ``x [B, K, M]``: no encoding has acted on them, so they are what a cache holds."""
        return self._heads(self.key(x)), self._heads(self.value(x))

    def __call__(
        self, x: Array, keys: Array, values: Array, layer: LayerEncodings, *, return_weights: bool = False
    ) -> tuple[Array, Array | None]:
        """``[B, Q, M]`` for queries from ``x [B, Q, M]``, and the weights ``[B, H, Q, K]`` if asked for, else None."""
        out = attend(
            self._heads(self.query(x)),
            keys,
            values,
            layer.encodings,
            layer.params,
            layer.geometry,
            shared_bias=layer.shared_bias,
            return_weights=return_weights,
        )
        out, weights = out if return_weights else (out, None)
        return self.output(jnp.swapaxes(out, 1, 2).reshape(*x.shape[:2], -1)), weights
