"""PoPE: content in the magnitude, position in the phase (Gopalakrishnan et al. 2025)."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.shared.phase import sincos, vaswani_frequencies


def clipped_phase(phase: Array) -> Array:
    """``phase`` clipped to [-2 pi, 0]; its gradient is 1 there, ends included, and 0 outside, as in PyTorch.

    `jnp.clip` would halve the gradient at the ends, where parameters start.
    """
    inside = (phase >= -2 * math.pi) & (phase <= 0)
    return jnp.where(inside, phase, jax.lax.stop_gradient(jnp.clip(phase, -2 * math.pi, 0)))


@dataclasses.dataclass(frozen=True)
class PoPE(PositionalEncoding):
    """Polar coordinates: each component of a query or key is a complex number, whose magnitude is what the
    content says and whose phase is where it stands::

        q~_c = softplus(q_c) exp(i p_q theta_c),   k~_c = softplus(k_c) exp(i (p_k theta_c + delta_c))
        logits = sum over c of softplus(q_c) softplus(k_c) cos((p_k - p_q) theta_c + delta_c) / sqrt(D)
        theta_c = base^(-c/D),   c = 0 .. D-1

    (Gopalakrishnan et al. 2025. Relied on: x-transformers' ``PolarEmbedding``, whose logits these are, and notes of
    others on the paper; the authors' repository could not be had.) RoPE has half as many frequencies, and there the
    angle between query and key within a plane shifts the phase. Encoded queries and keys have 2 D components, real
    parts then imaginary parts; the scale is still 1/sqrt(D), and values stay as they are.

    Parameter: ``delta [H, D]`` of each layer (one for all layers in x-transformers), clipped to [-2 pi, 0] where it is
    used (`clipped_phase`; one that training moves out of the interval gets no gradient any more, as in the code). Field
    ``delta_init``: "zero", which extrapolates better according to the paper, or "uniform" over the interval.

    Departure: delta is subtracted from the phase of the query instead of added to that of the key, which is the same
    product; so each of H heads has its own where groups of them share a key.

    >>> encoded = PoPE().encode_keys({}, jnp.zeros((1, 1, 1, 1)), jnp.array([[1]]), None)
    >>> [round(x, 4) for x in encoded[0, 0, 0].tolist()]  # ln 2 times cosine and sine of 1
    [0.3745, 0.5833]
    """

    base: float = 10000.0
    delta_init: Literal["zero", "uniform"] = "zero"

    name = "pope"
    paper = "arXiv:2509.10534"
    citation = """@misc{gopalakrishnan2025decoupling, author = {Gopalakrishnan, A. and Csordás, R. and Schmidhuber,
        J. and Mozer, M. C.}, title = {{Decoupling the ``What'' and ``Where'' With Polar Coordinate Positional
        Embeddings}}, year = {2025}, eprint = {2509.10534}}"""
    methods = (Method("rotary", "PoPE", "pope", "Gopalakrishnan et al. 2025", use="s"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("delta", 0),)
    linear_in_queries = False
    limits = limited(base=above(0, ": the paper has 10000.0"))

    def init(self, key: Key, dims: Dims) -> Params:
        """Zeros, or uniform over [-2 pi, 0]."""
        shape = (dims.num_heads, dims.head_dim)
        if self.delta_init == "zero":
            return {"delta": jnp.zeros(shape, jnp.float32)}
        return {"delta": jax.random.uniform(key, shape, jnp.float32, minval=-2 * math.pi, maxval=0.0)}

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[head_dim]``, one for each component of a vector."""
        return vaswani_frequencies(2 * dims.head_dim, self.base)

    def encoded_dim(self, head_dim: int) -> int:
        """A sine and a cosine for each dimension."""
        return 2 * head_dim

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        return self._encode(q, positions, jnp.asarray(params["delta"]))

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        return self._encode(k, positions, None)

    def _encode(self, x: Array, positions: Array, delta: Array | None) -> Array:
        dim, dtype = x.shape[-1], at_least_float32(x)
        sin, cos = (a[:, None] for a in sincos(positions, vaswani_frequencies(2 * dim, self.base), dtype))
        if delta is not None:  # the exact phase of the position, turned back by delta
            delta = clipped_phase(delta.astype(at_least_float32(x, delta)))[None, :, None]
            turned = jnp.sin(delta).astype(dtype), jnp.cos(delta).astype(dtype)
            sin, cos = sin * turned[1] - cos * turned[0], cos * turned[1] + sin * turned[0]
        magnitude = jax.nn.softplus(jnp.asarray(x).astype(dtype))
        return jnp.concatenate([magnitude * cos, magnitude * sin], axis=-1).astype(x.dtype)
