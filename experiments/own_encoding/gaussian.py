"""An encoding of one's own: each head sees a Gaussian window of learned width around the query."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings import PositionalEncoding


@dataclasses.dataclass(frozen=True)
class GaussianWindow(PositionalEncoding):
    """``bias_ij = -(j - i)^2 / (2 width_h^2)``, with widths of 1, 2, 4, ... positions at first."""

    first_width: float = 1.0

    name = "gaussian_window"
    paper = citation = "nowhere yet"
    shift_invariant = True

    def init(self, key, dims):
        return {"log_width": jnp.log(self.first_width) + jnp.log(2.0) * jnp.arange(dims.num_heads, dtype=jnp.float32)}

    def bias(self, params, geometry):
        precision = jnp.exp(-2 * params["log_width"])[None, :, None, None]
        distance = jnp.asarray(geometry.relative)[:, None].astype(precision.dtype)
        return -0.5 * precision * distance**2
