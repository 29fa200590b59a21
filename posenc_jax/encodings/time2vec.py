"""Time2Vec: a learned vector of time, one part of it linear and the others periodic."""

import dataclasses
import math

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.method import Method


@dataclasses.dataclass(frozen=True)
class Time2Vec(PositionalEncoding):
    """A vector of the position, of learned frequencies and phases, added to the input embeddings::

        x_p + t(p),   t(p)[0] = w_0 p + c_0,   t(p)[m] = sin(w_m p + c_m),   m = 1 .. d_model - 1

    (Kazemi et al. 2019, section 4, equation 1, with the sine.) For positions that are times: fractions are fine, and
    w rescales whatever unit they are in. The linear part tells times apart that lie a period from each other.

    The paper appends the vector to the other features of an input; adding it is the same when the first layer is
    linear. The paper leaves initial values open: here w_m falls from 1 to 1e-4 in equal steps of its logarithm, w_0 is
    1e-4 and phases are uniform in a turn. Re-implementations draw both from a normal distribution, which makes
    whole-number positions alias from the start.

    Parameters: ``frequencies`` (w) and ``phases`` (c), ``[d_model]`` each.
    """

    name = "time2vec"
    paper = "arXiv:1907.05321"
    citation = """@misc{kazemi2019time, author = {Kazemi, S. M. and Goel, R. and Eghbali, S. and Ramanan, J. and Sahota,
        J. and Thakur, S. and Wu, S. and Smyth, C. and Poupart, P. and Brubaker, M.}, title = {{Time2Vec: Learning a
        Vector Representation of Time}}, year = {2019}, eprint = {1907.05321}}"""
    methods = (
        Method("absolute", "Time2Vec", "time2vec", "Kazemi et al. 2019", note="positions may be times", use="s"),
    )
    breaks = frozenset({"precision"})

    def init(self, key: Key, dims: Dims) -> Params:
        frequencies = jnp.logspace(0, -4, max(dims.d_model - 1, 1))[: dims.d_model - 1]
        return {
            "frequencies": jnp.concatenate([jnp.full(1, 1e-4), frequencies]).astype(jnp.float32),
            "phases": jax.random.uniform(key, (dims.d_model,), jnp.float32, maxval=2 * math.pi),
        }

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        frequencies, phases = (jnp.asarray(params[name])[None, None] for name in ("frequencies", "phases"))
        dtype = at_least_float32(x, frequencies)
        positions = jnp.asarray(sequence.positions).astype(dtype)[..., None]
        angles = positions * frequencies.astype(dtype) + phases.astype(dtype)
        vectors = jnp.concatenate([angles[..., :1], jnp.sin(angles[..., 1:])], axis=-1)
        return (x.astype(dtype) + vectors).astype(x.dtype)
