"""Pictures of the sinusoidal encoding at the settings of texts that teach it: ``posenc show --preset NAME``."""

import dataclasses
from typing import Any

from posenc_jax.drawing.plots import Plot

ENCODING = "sinusoidal"
WORDS = "the quick brown fox"  # of the view flow


@dataclasses.dataclass(frozen=True, kw_only=True)
class Preset:
    """A view with its settings, what the picture is ``about``, and its ``reading``: how to read it for `ENCODING`."""

    view: str
    d_model: int
    about: str
    reading: str
    length: int = 50
    num_heads: int | None = None
    positions: tuple[int, ...] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The options of ``posenc show`` that it stands for, with their values."""
        found = {name: getattr(self, name) for name in ("d_model", "length", "num_heads", "positions")}
        return {"view": [self.view]} | {name: value for name, value in found.items() if value is not None}

    def read(self, plot: Plot) -> Plot:
        """The plot with the reading in its caption."""
        return dataclasses.replace(plot, caption=f"{plot.caption} {self.reading}")


_ROWS = "Each row is the vector of one position, each column one dimension at all positions. The first row is "
_ROWS += "0, 1, 0, 1: sines begin at 0, cosines at 1. "

PRESETS = {
    "flow": Preset(
        view="flow",
        d_model=4,
        length=4,
        num_heads=1,
        about="four words, from embeddings and positions to the encoder",
        reading="One row per word. Both blocks on the left have the same shape, so they are added cell by cell. The "
        "vectors of positions differ in dimensions 0 and 1; in a sentence this short, 2 and 3 hardly change.",
    ),
    "heatmap-20x32": Preset(
        view="heatmap",
        d_model=32,
        length=20,
        about="heat map of 20 positions and 32 dimensions",
        reading=f"{_ROWS}Stripes on the left are fast waves; plain columns on the right are slow ones.",
    ),
    "heatmap-50x128": Preset(
        view="heatmap",
        d_model=128,
        length=50,
        about="heat map of 50 positions and 128 dimensions",
        reading=f"{_ROWS}The waves get longer from left to right; the right half hardly changes in 50 positions. "
        "The left half tells rows apart.",
    ),
    "heatmap-100x512": Preset(
        view="heatmap",
        d_model=512,
        length=100,
        about="heat map of 100 positions and 512 dimensions",
        reading=f"{_ROWS}A curve from the upper left to the lower right is a crest, the same one in every column: "
        "waves get slower to the right, so it comes at a later position.",
    ),
    "heatmap-128x8": Preset(
        view="heatmap",
        d_model=8,
        length=128,
        about="heat map of 128 positions and 8 dimensions",
        reading=f"{_ROWS}Columns 0 and 1 are stripes: a wave takes 6.3 positions. In columns 2 and 3 it takes 63, so "
        "there are two. Columns 4 to 7 are gradients: a fifth of a wave or less. Rows 6 apart look alike in "
        "columns 0 and 1, rows 63 apart in columns 0 to 3.",
    ),
    "tsne-128x8": Preset(
        view="tsne",
        d_model=8,
        length=128,
        about="t-SNE of those 128 vectors",
        reading="Each point is a position, and points close together have similar vectors. Along a string of points, "
        "the step is 6, one turn of the fastest wave; from a point to the one beside it, the step is 63, ten turns "
        "of that wave and one of the next. So 5 lies beside 68, not beside 6.",
    ),
    "kernel-128x8": Preset(
        view="kernel",
        d_model=8,
        length=128,
        about="how alike two of those vectors are, by their distance",
        reading="At offset 0, a vector is compared with itself. Neighbours have 0.884; the curve returns to 0.946 at "
        "offset 6 and to 0.948 at 63, where positions are more alike than neighbours are.",
    ),
    "kernel-128x512": Preset(
        view="kernel",
        d_model=512,
        length=128,
        about="how alike two vectors of 512 dimensions are",
        reading="Neighbours have 0.973, and no larger offset comes near that. The curve does not only fall, though: "
        "it rises for the first time at offset 44.",
    ),
    "lines-50x128": Preset(
        view="lines",
        d_model=128,
        length=50,
        positions=(0, 10, 25),
        about="the vectors of positions 0, 10 and 25, of 128 dimensions",
        reading="At position 0, all sines are 0 and all cosines are 1. The farther the position, the more its waves "
        "turn on the left; on the right, all vectors are nearly equal.",
    ),
    "lines-7x512": Preset(
        view="lines",
        d_model=512,
        length=7,
        positions=(0, 5),
        about="the vectors of positions 0 and 5, of 512 dimensions",
        reading="Five steps turn the first waves far from where they began, and the last ones hardly at all.",
    ),
    "waves-128x8": Preset(
        view="waves",
        d_model=8,
        length=128,
        about="waves: each of 8 dimensions along 128 positions",
        reading="Each panel is two columns of the heat map. From one panel to the next, the wave is 10 times as long. "
        "It has corners because positions are whole numbers.",
    ),
    "waves-128x512": Preset(
        view="waves",
        d_model=512,
        length=128,
        about="waves: 8 of 512 dimensions along 128 positions",
        reading="These are the pairs at the beginning of the vector and at an eighth, a quarter and half of it: the "
        "second half of the dimensions is slower than the last panel.",
    ),
    "exp-8": Preset(
        view="exp",
        d_model=8,
        about="the exponential of div_term, of 8 dimensions",
        reading="The four dots are what div_term holds, 1, 0.1, 0.01 and 0.001: the factors of the position in the "
        "sines and cosines of dimensions 0 and 1, 2 and 3, 4 and 5, 6 and 7.",
    ),
    "wavelengths-512": Preset(
        view="wavelengths",
        d_model=512,
        about="the wavelengths of 512 dimensions",
        reading="A straight line on a logarithmic axis is a geometric progression. It begins at 2π and ends at "
        "9646.6 times that, a little below 10000 · 2π.",
    ),
}
