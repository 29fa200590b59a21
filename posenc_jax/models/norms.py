"""The norms of a Transformer."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from posenc_jax.encodings.interface.base import at_least_float32
from posenc_jax.models.config import Transformer


class OffsetRMSNorm(nnx.Module):
    """``x / sqrt(mean(x^2) + epsilon) * (1 + scale)``, scale ``[width]`` from zero: RMSNorm as in Gemma
    (arXiv:2403.08295).
    """

    def __init__(self, width: int, *, epsilon: float, dtype: Any):
        self.num_features, self.epsilon, self.dtype = width, epsilon, dtype
        self.scale = nnx.Param(jnp.zeros((width,), jnp.float32))

    def __call__(self, x: jax.Array) -> jax.Array:
        """``[..., width]`` of ``x [..., width]``, computed in at least float32."""
        factors = 1 + self.scale[...].reshape((1,) * (x.ndim - 1) + (-1,))
        wide = x.astype(at_least_float32(x, factors))
        power = jnp.mean(wide * wide, axis=-1, keepdims=True)
        return (wide * jax.lax.rsqrt(power + self.epsilon) * factors).astype(self.dtype or wide.dtype)


Norm = nnx.LayerNorm | nnx.RMSNorm | OffsetRMSNorm


def norm_layer(config: Transformer, width: int | None = None, *, rngs: nnx.Rngs) -> Norm:
    """The norm of vectors of a width (None: that of the model), computed in at least float32 and given back in the
    dtype computed in.

    The variance is ``E[x^2] - E[x]^2``, in one pass over the activations.
    """
    width, form = width or config.d_model, {"epsilon": config.norm_epsilon, "dtype": config.compute_dtype}
    if config.norm_type == "rms_offset":
        return OffsetRMSNorm(width, **form)
    if config.norm_type == "rms":
        return nnx.RMSNorm(width, **form, rngs=rngs)
    return nnx.LayerNorm(width, use_bias=config.norm_bias, **form, rngs=rngs)
