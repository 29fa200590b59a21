"""Multiplicative GRAPE with commuting planes: RoPE whose frequencies are learned (Zhang et al. 2025)."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, turn
from posenc_jax.encodings.value import above, limited


@dataclasses.dataclass(frozen=True)
class GRAPEM(Rotary):
    """Multiplicative GRAPE with commuting planes: RoPE whose frequencies are learned::

        q'_i = G(i) q_i,  k'_j = G(j) k_j,  G(n) = exp(n sum over k of theta_k L_k),  L_k the generator of plane k

    (Zhang et al. 2025, section 3.1; the authors' code ``llama-mha-grape-m-nonctx``.) Planes are pairs of coordinates:
    an orthogonal basis of planes, which the paper allows to be learned too, would only be another basis for W_q and
    W_k. General generators: `GRAPEMPlanes`; steps that depend on the tokens: `GRAPEMContext`.

    Each layer has frequencies of its own. Angles are plain products in at least float32.

    Departures: the code turns by the negative angle, which is the layout with the two dimensions of each plane
    exchanged, and applies its RMSNorm of queries and keys after the rotation, which is the model's matter here.

    Attributes:
      base: that of the frequencies at the start.
      shared: all heads share one set of frequencies, as in the code's experiments; False is one set per key head.
      scale: the parameter is ``log_frequencies = scale log(theta)``, so that a step of the optimizer changes log(theta)
        ``scale`` times less; 16 in the code (``grape_log_freq_scale``).
      layout: as in `RoPE`.
    """

    base: float = 10000.0
    shared: bool = True
    scale: float = 16.0
    layout: Layout = "half"

    name = "grape_m"
    paper = "arXiv:2512.07805"
    citation = """@inproceedings{zhang2026group, author = {Zhang, Y. and Chen, Z. and Liu, Y. and Qin, Z. and Yuan,
        H. and Xu, K. and Yang, Y. and Gu, Q. and Yao, A. C.-C.}, title = {{Group Representational Position
        Encoding}}, booktitle = {ICLR}, year = {2026}, eprint = {2512.07805}}"""
    methods = (Method("rotary", "GRAPE-M, commuting planes", "grape_m", "Zhang et al. 2025"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("log_frequencies", 0),)
    by_key_head = True
    limits = limited(base=above(0, ": the authors' code has 10000.0"), scale=above(0, ": the authors' code has 16.0"))

    def init(self, key: Key, dims: Dims) -> Params:
        logs = self.scale * np.log(vaswani_frequencies(dims.head_dim, self.base))
        heads = 1 if self.shared else dims.num_kv_heads
        return {"log_frequencies": jnp.tile(jnp.asarray(logs, jnp.float32)[None], (heads, 1))}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        logs = jnp.asarray(params["log_frequencies"])
        dtype = at_least_float32(x, logs)
        frequencies = jnp.exp(logs.astype(dtype) / self.scale)
        frequencies = jnp.repeat(frequencies, x.shape[1] // len(logs), axis=0)
        angles = jnp.asarray(positions).astype(dtype)[:, None, :, None] * frequencies[None, :, None]
        return turn(x, jnp.sin(angles), jnp.cos(angles), self.layout)
