"""LayoutLM's learned positions of boxes on a page (Xu et al. 2019)."""

import dataclasses

from posenc_jax.encodings.base import Array, Dims, Key, Params, PositionalEncoding, Sequence, at_least_float32
from posenc_jax.encodings.learned import read_rows
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.value import at_least, limited


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
