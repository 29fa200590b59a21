"""Positions by a convolution over neighbouring tokens, as in encoders of speech, or cells of an image (CPVT, Twins)."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class ConvPosition(PositionalEncoding):
    """A grouped convolution over the input embeddings, added to them::

        x_i + GeLU(b + sum_t W_t x_(i + t - K div 2)),   t = 0 .. K-1,   W_t = g_t V_t / |V_t|

    (Baevski et al. 2020, wav2vec 2.0, section 2, after Mohamed et al. 2019; sizes, the norm of each W_t and the start
    are those of fairseq and transformers.) It reads no positions: the order of neighbours and the zeros around a
    sequence reveal where a token is. W_t maps the channels of a group to channels of the same group. Neighbours in
    other packed sequences and padding count as zeros; released models that are called without an attention mask do read
    padding.

    Half of the neighbours come later, so it serves encoders, and a cache must be filled in one call: `breaks` names
    ``causality`` and ``cached_decoding``. It costs K products of S tokens, one after the other.

    Attributes:
      kernel: K, 128 in wav2vec 2.0.
      groups: the number of groups of channels, 16 in wav2vec 2.0.

    Parameters: ``v [K, groups, d_model / groups, d_model / groups]`` (from, to), ``g [K]``, ``bias [d_model]``.

    Raises:
      ValueError: in `check`, if groups do not divide d_model.
    """

    kernel: int = 128
    groups: int = 16

    name = "conv_position"
    paper = "arXiv:2006.11477"
    citation = """@inproceedings{baevski2020wav, author = {Baevski, A. and Zhou, H. and Mohamed, A. and Auli, M.},
        title = {{wav2vec 2.0: A Framework for Self-Supervised Learning of Speech Representations}},
        booktitle = {NeurIPS}, year = {2020}, eprint = {2006.11477}}"""
    methods = (
        Method(
            "absolute",
            "Convolutional positions (wav2vec 2.0)",
            "conv_position(kernel=8)",
            "Baevski et al. 2020",
            note="a kernel of 128 there; for encoders",
            use="W",
        ),
    )
    shift_invariant = True
    breaks = frozenset({"causality", "cached_decoding"})
    limits = limited(kernel=at_least(1, ": wav2vec 2.0 has 128"), groups=at_least(1, ": wav2vec 2.0 has 16"))

    def check(self, dims: Dims) -> None:
        if dims.d_model % self.groups:
            raise ValueError(
                f"ConvPosition.groups = {self.groups} must divide d_model = {dims.d_model}: wav2vec 2.0 has 16 of 768"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        """``v`` from N(0, 4 / (K d_model)), ``g`` its norms, ``bias`` 0, as in transformers."""
        width = dims.d_model // self.groups
        deviation = 2 / math.sqrt(self.kernel * dims.d_model)
        v = deviation * jax.random.normal(key, (self.kernel, self.groups, width, width), jnp.float32)
        return {"v": v, "g": _norms(v)[:, 0, 0, 0], "bias": jnp.zeros(dims.d_model, jnp.float32)}

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x, params["v"])
        v, g, bias = (jnp.asarray(params[name], dtype) for name in ("v", "g", "bias"))
        weights = v * (g[:, None, None, None] / _norms(v))
        batch, size, width = x.shape
        segments = jnp.ones((1, size), jnp.int32) if sequence.segment_ids is None else jnp.asarray(sequence.segment_ids)
        around = ((0, 0), (self.kernel // 2, self.kernel - 1 - self.kernel // 2))
        tokens, kinds = jnp.pad(x.astype(dtype), (*around, (0, 0))), jnp.pad(segments, around)

        def add(total: jax.Array, shifted: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            shift, weight = shifted
            near, kind = (jax.lax.dynamic_slice_in_dim(array, shift, size, 1) for array in (tokens, kinds))
            near = jnp.where(((kind == segments) & (kind != 0))[..., None], near, 0)
            grouped = near.reshape(batch, size, self.groups, -1)
            return total + jnp.einsum("bsgi,gio->bsgo", grouped, weight, precision="highest"), None

        first, _ = add(jnp.zeros((), dtype), (jnp.int32(0), weights[0]))  # of the devices that its inputs are on
        total, _ = jax.lax.scan(add, first, (jnp.arange(1, self.kernel, dtype=jnp.int32), weights[1:]))
        places = jax.nn.gelu(total.reshape(batch, size, width) + bias[None, None], approximate=False)
        return (x.astype(dtype) + places).astype(x.dtype)


def _norms(v: Array) -> Array:
    """``[K, 1, 1, 1]``: the norm of each W_t; never 0."""
    return jnp.sqrt(jnp.maximum(jnp.sum(v**2, axis=(1, 2, 3), keepdims=True), 1e-30))


@dataclasses.dataclass(frozen=True)
class ConditionalPosition(PositionalEncoding):
    """A convolution of each channel over the cells around a token, added to the input embeddings::

        x_p + b + sum_o w_o * x_(p + o),   o = (-r .. r, -r .. r),   r = kernel div 2

    (Chu et al. 2021, conditional positional encodings; form and start are those of Twins' code, PosCNN in gvt.py.)
    Positions ``[#B, S, 2]``: row, column, as from `Grid`, integers. Each channel has its own kernel. Cells outside the
    image, other packed sequences and padding count as zeros, and these zeros reveal where a token is. Tokens are found
    by their positions, so the order of the sequence and holes in the image do not matter; this costs kernel^2
    comparisons of all pairs of tokens.

    Departure: the authors apply it after the first block of the encoder (Twins: of every stage), where tokens have seen
    each other; here it acts on the input embeddings. It reads cells that come later, so it serves encoders, and a cache
    must be filled in one call: `breaks` names ``causality`` and ``cached_decoding``.

    Attributes:
      kernel: the cells on each side of the square that is read, an odd number; 3 in CPVT and Twins.

    Parameters: ``weight [kernel^2, d_model]``, row by row, N(0, 2 / kernel^2), ``bias [d_model]``, 0.
    """

    kernel: int = 3

    name = "conditional_position"
    paper = "arXiv:2102.10882"
    citation = """@inproceedings{chu2021conditional, author = {Chu, X. and Tian, Z. and Zhang, B. and Wang, X. and Shen,
        C.}, title = {{Conditional Positional Encodings for Vision Transformers}}, booktitle = {ICLR 2023},
        year = {2021}, eprint = {2102.10882}}"""
    methods = (
        Method(
            "absolute",
            "Conditional positions (CPVT, Twins)",
            "grid(width=8)|conditional_position",
            "Chu et al. 2021",
            note="behind the first block there; for encoders",
            use="W",
        ),
    )
    shift_invariant = True
    integer_positions = True
    position_axes = 2
    breaks = frozenset({"causality", "cached_decoding"})
    limits = limited(kernel=at_least(1, ": CPVT and Twins have 3", most=31))

    def check_fields(self) -> None:
        if self.kernel % 2 == 0:
            raise ValueError(f"ConditionalPosition.kernel = {self.kernel} must be odd, with a cell in the middle: 3")

    def init(self, key: Key, dims: Dims) -> Params:
        deviation = (2 / self.kernel**2) ** 0.5
        return {
            "weight": deviation * jax.random.normal(key, (self.kernel**2, dims.d_model), jnp.float32),
            "bias": jnp.zeros(dims.d_model, jnp.float32),
        }

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x, params["weight"])
        weight, bias = (jnp.asarray(params[name], dtype) for name in ("weight", "bias"))
        cells = jnp.asarray(sequence.positions)
        offset = cells[:, None] - cells[:, :, None]  # [#B, S, S, 2]: from each token to every other
        there = jnp.ones(offset.shape[:3], bool)
        if sequence.segment_ids is not None:
            segments = jnp.asarray(sequence.segment_ids)
            there = (segments[:, None] == segments[:, :, None]) & (segments != 0)[:, None]

        def add(total: jax.Array, own: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            o, w = own
            near = (there & (offset == o[None, None, None]).all(axis=-1)).astype(dtype)
            near = jnp.broadcast_to(near, (len(x), *near.shape[1:]))
            seen = jnp.einsum("bij,bjm->bim", near, tokens, precision="highest")
            return total + seen * w[None, None], None

        tokens = jnp.asarray(x, dtype)
        reach = np.indices((self.kernel, self.kernel)).reshape(2, -1).T - self.kernel // 2
        start = jnp.asarray(tokens + bias[None, None])
        total, _ = jax.lax.scan(add, start, (jnp.asarray(reach, cells.dtype), jnp.asarray(weight)))
        return total.astype(x.dtype)
