"""The heat map of 128 positions and 8 dimensions, and its t-SNE: periods of 6 and 63."""

import math

import numpy as np

from posenc_jax.analysis.kernels import kernel
from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal, vaswani_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

LENGTH, D_MODEL = 128, 8


def neighbours(count: int = 3) -> np.ndarray:
    """``[128, count]``: the positions whose vectors are nearest to each one's, in all eight dimensions."""
    vectors = sinusoidal(np.arange(LENGTH), D_MODEL, dtype=np.float64)
    apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    np.fill_diagonal(apart, np.inf)
    return apart.argsort(axis=1, kind="stable")[:, :count]


def _body() -> str:
    w = vaswani_frequencies(D_MODEL)
    pairs = [
        (f"{2 * k}, {2 * k + 1}", number(w[k], 3), number(math.tau / w[k], 1), number(LENGTH * w[k] / math.tau, 2))
        for k in range(D_MODEL // 2)
    ]
    near = neighbours()
    offsets, counts = np.unique(np.abs(near - np.arange(LENGTH)[:, None]), return_counts=True)
    common = [(int(offsets[i]), int(counts[i])) for i in np.argsort(-counts, kind="stable")]
    likeness = kernel(w, np.array([offset for offset, _ in common]))
    found = [(offset, count, number(k)) for (offset, count), k in zip(common, likeness)]
    five = ", ".join(map(str, near[5]))
    return f"""## How to read the heat map
There are four pairs of columns, each with a tenth of the frequency of the one before:

{table(["columns", "frequency", "wavelength, positions", f"waves in {LENGTH} positions"], pairs)}

Columns 0 and 1 are stripes: one wave takes a little more than six positions. Columns 2 and 3 go through one wave in 63
positions, and through two in all. Columns 4 to 7 are gradients: less than half a wave.

## How to read the t-SNE picture
t-SNE lays out the 128 vectors of eight numbers in a plane so that near ones stay near (perplexity 4, as in the
article). Which vectors are near each other can be counted before anything is projected. The three nearest vectors of
each position, by the offset of their positions:

{table(["offset", f"of {3 * LENGTH} neighbours", "cosine"], found)}

So the three nearest vectors of a position are never those of its neighbours, one step away: points that lie together in
the picture are steps of 6 and 63 positions apart. The nearest to 5 are {five}.
[Positions 5 and 68](lesson:aliases) explains why."""


def _answer() -> str:
    first, *others = neighbours()[70]
    one, two = sorted(map(int, others))
    return f"""\
{first}, which is 63 before it, then {one} and {two}, 6 before and after it. The position 63 after it, 133, is
beyond the 128 positions. With d_model 64 instead of 8, the clusters dissolve:
`posenc show sinusoidal --d-model 64 --length 128 --view tsne` draws a thread."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

vectors = sinusoidal(np.arange(128), 8)
apart = np.linalg.norm(vectors - vectors[5], axis=1)
print("nearest to 5:", apart.argsort()[1:4])
"""
LESSON = Lesson(
    name="clusters",
    title="The heat map of 128 x 8, and its clusters",
    where="The article on PyTorch: its heat map and its t-SNE picture",
    claim="The vectors of 128 positions at d_model 8 fall into clusters with periods of 6 and 63.",
    verdict="confirmed",
    because="The three nearest vectors of a position are 6, 63 or 69 positions away; none is adjacent to it.",
    code=CODE,
    pictures=("heatmap-128x8", "tsne-128x8"),
    body=_body,
    question="Which three positions have the vectors nearest to that of 70? Name them before you look.",
    answer=_answer,
    seconds=6,
)
