"""Relative positions of several axes, one table of vectors for each axis: BoTNet, MViTv2, ViTDet."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.interface.arrays import at_least_float32
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, Terms
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import of_field
from posenc_jax.encodings.relative.shaw import clipped_distances, pick
from posenc_jax.encodings.shared.draws import normals


@dataclasses.dataclass(frozen=True)
class Decomposed(PositionalEncoding):
    """A learned vector for each offset on each axis, which the query reads::

        logits_ij += q_i . ( sum over axes a of r^a_(d_a) ) s,   d_a = position of i - position of j on axis a

    with s = 1/sqrt(D) in Bello et al. (2019, "Attention Augmented Convolutional Networks", section 3.2) and BoTNet, as
    q . k has it, and s = 1 in MViTv2 (Li et al. 2021, section 4.1, equation 4) and ViTDet, whose code reads the query
    before it is scaled, though the paper's equation divides both. All heads of a layer share its tables. Each axis
    costs one product of the queries with 2 n - 1 vectors; no array of vectors per pair exists.

    Positions ``[#B, S, axes]``, as from `Grid`. Queries and keys of different grids, as MViT's pooled keys, have
    positions in units of the finer one: key j of every second cell stands at 2 j.

    Departure: offsets beyond the sizes read the last vector; ViTDet's code interpolates the table linearly for other
    sizes. Positions must be integers.

    Attributes:
      sizes: n, the cells on each axis; three numbers for films.
      scaled: s = 1/sqrt(D); False is s = 1.

    Parameters: ``axis_0``, ``axis_1``, ... ``[2 n - 1, D]``, row d + n - 1, from N(0, 0.02^2) as in MViTv2 (ViTDet: 0;
    BoTNet: N(0, 1/D)).
    """

    sizes: tuple[int, ...] = (14, 14)
    scaled: bool = False

    name = "decomposed"
    paper = "arXiv:2112.01526"
    citation = """@inproceedings{li2022mvitv2, author = {Li, Y. and Wu, C.-Y. and Fan, H. and Mangalam, K. and Xiong, B.
        and Malik, J. and Feichtenhofer, C.}, title = {{MViTv2: Improved Multiscale Vision Transformers for
        Classification and Detection}}, booktitle = {CVPR}, year = {2022}, eprint = {2112.01526}}"""
    methods = (
        Method(
            "relative",
            "Decomposed relative positions (MViTv2, ViTDet)",
            "grid(width=8)|decomposed",
            "Li et al. 2021",
            use="W",
        ),
        Method(
            "relative",
            "2-D relative logits (BoTNet)",
            "grid(width=8)|decomposed(scaled=True)",
            "Bello et al. 2019",
            "arXiv:1904.09925",
            use="W",
        ),
    )
    shift_invariant = True
    integer_positions = True
    per_layer = True
    position_axes = of_field("sizes", len)

    def check_fields(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise ValueError(
                f"Decomposed.sizes = {self.sizes} must have a number of cells, at least 1, for each of two axes or "
                "more: for a single axis there is `shaw`"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        return normals(key, {f"axis_{axis}": (2 * size - 1, dims.head_dim) for axis, size in enumerate(self.sizes)})

    def content_bias(self, params: Params, q: Array, k: Array, geometry: Geometry, terms: Terms) -> Array:
        dtype = at_least_float32(q)
        q = q.astype(dtype) * q.shape[-1] ** -0.5 if self.scaled else q.astype(dtype)
        offsets = -geometry.relative
        total: Array | float = 0.0
        for axis, size in enumerate(self.sizes):
            rows = clipped_distances(offsets[..., axis], size - 1, "Decomposed")
            table = jnp.asarray(params[f"axis_{axis}"]).astype(dtype)
            total = total + pick(jnp.einsum("bhqd,rd->bhqr", q, table, precision="highest"), rows)
        return jnp.asarray(total)
