"""Sinusoidal positions whose frequencies are trained: does a model move them away from an alias?"""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings import PositionalEncoding
from posenc_jax.encodings.interface.base import at_least_float32
from posenc_jax.encodings.shared.phase import vaswani_frequencies


@dataclasses.dataclass(frozen=True)
class TrainedFrequencies(PositionalEncoding):
    """``x_p + [sin(p w_k), cos(p w_k)]`` with w trained from ``base ** (-2k/d_model)``, as Vaswani's, on.

    Angles are float32 products, right to 1e-5 at the positions below 1000 that this experiment has. d_model even.
    """

    base: float = 10000.0

    name = "trained_frequencies"
    paper = citation = "nowhere: the control of an experiment"

    def init(self, key, dims):
        return {"frequencies": jnp.asarray(vaswani_frequencies(dims.d_model, self.base), jnp.float32)}

    def embed(self, params, x, sequence):
        dtype = at_least_float32(x, params["frequencies"])
        angles = jnp.asarray(sequence.positions, dtype)[..., None] * params["frequencies"].astype(dtype)[None, None]
        vectors = jnp.stack([jnp.sin(angles), jnp.cos(angles)], axis=-1).reshape(*angles.shape[:-1], x.shape[-1])
        return (x.astype(dtype) + vectors).astype(x.dtype)
