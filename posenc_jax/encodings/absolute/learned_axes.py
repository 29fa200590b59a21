"""Learned absolute positions of several axes: a table for each, whose rows are put together; LayoutLM's of boxes."""

import dataclasses
from typing import Literal

import jax.numpy as jnp

from posenc_jax.encodings.absolute.learned import read_rows
from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited, of_field
from posenc_jax.encodings.shared.draws import normals


@dataclasses.dataclass(frozen=True)
class LearnedAxes(PositionalEncoding):
    """A learned vector for each row and each column of an image, added to the input embeddings::

        "sum"      x_p + T_1[p_1] + T_2[p_2]        tables of width d_model
        "concat"   x_p + [T_1[p_1] | T_2[p_2]]      tables of width d_model / A

    The sum is NaViT's factorized form (Dehghani et al. 2023, section 2.2), and Pix2Struct's; the other is DETR's
    (Carion et al. 2020), with columns first (``last_first``), and with rows first the axial positions of Reformer
    (Kitaev et al. 2020), which reads a text as a grid, so that n_1 n_2 positions need n_1 + n_2 vectors.

    Positions ``[#B, S, A]``, slowest axis first, as from `Grid`; fractional ones read a linear blend.

    Departures: positions outside read the nearest row; tables start at N(0, 0.02^2) (DETR: uniform in 0 .. 1); vectors
    are added to the input embeddings (DETR: to the queries and keys of every layer); the axes of "concat" have equal
    widths (settings in Reformer's code). NaViT's other forms, of fractions of the side, products and stacks, are not
    here.

    Attributes:
      sizes: the rows of each table.
      combine: "sum" or "concat", as above.
      last_first: "concat" begins with the vector of the last axis.

    Parameters: ``axis_0``, ``axis_1``, ... ``[n_a, width]``.

    Raises:
      ValueError: in `check`, if widths do not divide: with "concat" the number of axes must divide d_model.
    """

    sizes: tuple[int, ...] = (50, 50)
    combine: Literal["sum", "concat"] = "sum"
    last_first: bool = False

    name = "learned_axes"
    paper = "arXiv:2307.06304"
    citation = """@inproceedings{dehghani2023patch, author = {Dehghani, M. and Mustafa, B. and Djolonga, J. and Heek, J.
        and Minderer, M. and Caron, M. and Steiner, A. and Puigcerver, J. and Geirhos, R. and Alabdulmohsin, I. and
        others}, title = {{Patch n' Pack: NaViT, a Vision Transformer for any Aspect Ratio and Resolution}},
        booktitle = {NeurIPS}, year = {2023}, eprint = {2307.06304}}"""
    methods = (
        Method(
            "absolute",
            "Factorized learned positions (NaViT, Pix2Struct)",
            "grid(width=8)|learned_axes(sizes=(128, 8))",
            "Dehghani et al. 2023",
            use="W",
        ),
        Method(
            "absolute",
            "Learned rows and columns (DETR)",
            "grid(width=8)|learned_axes(sizes=(128, 8), combine='concat', last_first=True)",
            "Carion et al. 2020",
            "arXiv:2005.12872",
            use="W",
        ),
        Method(
            "absolute",
            "Axial learned positions (Reformer)",
            "grid(width=8)|learned_axes(sizes=(128, 8), combine='concat')",
            "Kitaev et al. 2020",
            "arXiv:2001.04451",
            use="W",
        ),
    )
    extrapolates = False
    position_axes = of_field("sizes", len)

    def check_fields(self) -> None:
        if not self.sizes or min(self.sizes) < 1:
            raise ValueError(
                f"LearnedAxes.sizes = {self.sizes} must have a number of rows, at least 1, for each axis: DETR has "
                "(50, 50)"
            )

    def check(self, dims: Dims) -> None:
        if self.combine == "concat" and dims.d_model % len(self.sizes):
            raise ValueError(
                f"{self} gives each of {len(self.sizes)} axes an equal part of d_model = {dims.d_model}, which must be "
                f"a multiple of {len(self.sizes)}: or use combine='sum'"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        width = dims.d_model // (1 if self.combine == "sum" else len(self.sizes))
        return normals(key, {f"axis_{axis}": (size, width) for axis, size in enumerate(self.sizes)})

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        dtype = at_least_float32(x, params["axis_0"])
        rows = [
            read_rows(params[f"axis_{axis}"], sequence.positions[..., axis].clip(0, size - 1)).astype(dtype)
            for axis, size in enumerate(self.sizes)
        ]
        if self.combine == "sum":
            return sum(rows, start=x.astype(dtype)).astype(x.dtype)
        return (x.astype(dtype) + jnp.concatenate(rows[::-1] if self.last_first else rows, axis=-1)).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class LayoutTables(PositionalEncoding):
    """Learned vectors of the edges of a word's box, its height and its width, added to the input embeddings::

        x_t + X[left] + Y[top] + X[right] + Y[bottom] + H[bottom - top] + W[right - left]

    (Xu et al. 2019, LayoutLM, and its code, which has height and width besides.) Left and right edges share a table, as
    do top and bottom. Positions ``[#B, S, 4]``: left, top, right and bottom in 1/1000 of the page, as in
    ``learned|attributes(count=4)|layout_tables``, where `Learned` adds the vector of the reading order.

    Attributes:
      size: the rows of each table, 1024 in LayoutLM; numbers outside read the nearest row (the authors' code raises).

    Parameters: ``left``, ``top``, ``height``, ``width`` ``[size, d_model]``, N(0, 0.02^2).
    """

    size: int = 1024

    name = "layout_tables"
    paper = "arXiv:1912.13318"
    citation = """@inproceedings{xu2020layoutlm, author = {Xu, Y. and Li, M. and Cui, L. and Huang, S. and Wei, F. and
        Zhou, M.}, title = {{LayoutLM: Pre-training of Text and Layout for Document Image Understanding}},
        booktitle = {KDD}, year = {2020}, eprint = {1912.13318}}"""
    methods = (
        Method(
            "absolute",
            "Boxes on a page (LayoutLM)",
            "learned|attributes(count=4)|layout_tables",
            "Xu et al. 2019",
            note="the attributes of a word are the edges of its box",
            use="W",
        ),
    )
    extrapolates = False
    position_axes = 4
    limits = limited(size=at_least(1, ": LayoutLM has 1024"))

    def init(self, key: Key, dims: Dims) -> Params:
        return normals(key, dict.fromkeys(("left", "top", "height", "width"), (self.size, dims.d_model)))

    def embed(self, params: Params, x: Array, sequence: Sequence) -> Array:
        left, top, right, bottom = (sequence.positions[..., edge] for edge in range(4))
        read = (
            *(("left", left), ("top", top), ("left", right), ("top", bottom)),
            *(("height", bottom - top), ("width", right - left)),
        )
        total = x.astype(dtype := at_least_float32(x, params["left"]))
        for table, positions in read:
            total = total + read_rows(params[table], positions.clip(0, self.size - 1)).astype(dtype)
        return total.astype(x.dtype)
