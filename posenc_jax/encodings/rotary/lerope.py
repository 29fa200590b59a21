"""LeRoPE: RoPE with one learned factor for each frequency (Karypis et al. 2026)."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, turn


@dataclasses.dataclass(frozen=True)
class LeRoPE(Rotary):
    """RoPE whose frequencies are learned, each by one number that all layers and heads share::

        theta'_k = exp(alpha_k) base^(-2k/D),   alpha_k = 0 at the start

    (Karypis et al. 2026, section 3.1.) Frequencies stay positive, and an optimizer step changes all of their logarithms
    at one scale. The paper excludes alpha from weight decay, as here all parameters of encodings are, and clips its
    gradient separately, which is not done here. `GRAPEM` learns the scaled logarithms of frequencies for each layer.
    Angles are plain products in at least float32.

    Neither code nor the paper's text was available: this follows three descriptions of section 3.1, which agree.

    Attributes:
      base: that of the frequencies at the start.
      layout: as in `RoPE`.

    Parameters: ``log_scale`` (alpha) ``[D/2]``.
    """

    base: float = 10000.0
    layout: Layout = "half"

    name = "lerope"
    paper = "arXiv:2607.10134"
    citation = """@misc{karypis2026lerope, author = {Karypis and others}, title = {{LeRoPE: Learnable RoPE Frequencies
        Improve Language Modeling}}, year = {2026}, eprint = {2607.10134}}"""
    methods = (Method("rotary", "LeRoPE", "lerope", "Karypis et al. 2026"),)
    shift_invariant = True
    limits = limited(base=above(0, ": 10000.0 is RoPE's"))

    def init(self, key: Key, dims: Dims) -> Params:
        return {"log_scale": jnp.zeros(dims.head_dim // 2, jnp.float32)}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        log_scale = jnp.asarray(params["log_scale"])
        dtype = at_least_float32(x, log_scale)
        plain = vaswani_frequencies(x.shape[-1], self.base).astype(dtype)
        frequencies = (plain * jnp.exp(log_scale.astype(dtype)))[None, None, None]
        angles = jnp.asarray(positions).astype(dtype)[:, None, :, None] * frequencies
        return turn(x, jnp.sin(angles), jnp.cos(angles), self.layout)
