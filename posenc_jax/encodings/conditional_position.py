"""Positions of images by a convolution over neighbouring cells, as in CPVT and Twins."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.value import at_least, limited


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
