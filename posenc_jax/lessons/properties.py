"""Properties that people claim of the sinusoidal encoding, each measured."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.kernels import distances
from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal, vaswani_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

# How far closest pairs are looked for, by d_model.
RANGES = {2: 10**6, 4: 10**6, 8: 10**6, 16: 10**5, 64: 2 * 10**4, 512: 10**4}
ROUNDING = 1e-12  # of float64


def rows(positions: np.ndarray, d_model: int) -> np.ndarray:
    """``[P, d_model]``, float64."""
    return np.asarray(sinusoidal(positions, d_model, dtype=np.float64))


def bounds(d_model: int, length: int) -> tuple[float, float]:
    """The smallest and the largest value."""
    vectors = rows(np.arange(length), d_model)
    return float(vectors.min()), float(vectors.max())


def norm_spread(d_model: int, length: int) -> float:
    """The largest distance of a norm from ``sqrt(d/2)``."""
    return float(np.abs(np.linalg.norm(rows(np.arange(length), d_model), axis=1) - math.sqrt(d_model / 2)).max())


def closest(d_model: int, length: int) -> tuple[int, float]:
    """The offset below the length at which two positions are closest, and their distance."""
    offsets = np.arange(1, length)
    found = distances(vaswani_frequencies(d_model), offsets)
    return int(offsets[found.argmin()]), float(found.min())


def repeated(d_model: int, length: int, dtype: Any) -> int:
    """The number of positions that have, in this dtype, the same vector as an earlier one."""
    vectors = rows(np.arange(length), d_model).astype(dtype)
    return length - len(np.unique(vectors.view(np.uint8).reshape(length, -1), axis=0))


def rotation(d_model: int, offset: int) -> np.ndarray:
    """``[d, d]``: turns each pair of dimensions by offset times its frequency."""
    matrix = np.zeros((d_model, d_model))
    for k, w in enumerate(vaswani_frequencies(d_model)):
        sin, cos = math.sin(offset * w), math.cos(offset * w)
        matrix[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[cos, sin], [-sin, cos]]
    return matrix


def rotation_error(d_model: int, offset: int, length: int) -> float:
    """The largest difference between ``rotation @ PE(p)`` and ``PE(p + offset)``."""
    vectors = rows(np.arange(length + offset), d_model)
    return float(np.abs(vectors[:length] @ rotation(d_model, offset).T - vectors[offset:]).max())


def offset_share(matrix: np.ndarray) -> float:
    """The share of the variance of ``matrix [P, P]`` over all pairs of positions that their signed offset explains."""
    length = len(matrix)
    offset = np.subtract.outer(np.arange(length), np.arange(length)) + length - 1
    counts = np.bincount(offset.ravel())
    means = np.bincount(offset.ravel(), matrix.ravel()) / counts
    return float(1 - ((matrix - means[offset]) ** 2).mean() / matrix.var())


def logits_share(d_model: int, length: int, draws: int, rotating: bool) -> float:
    """The mean of `offset_share` over random projections ``A = W_q^T W_k`` of ``PE(p)^T A PE(q)``.

    ``rotating``: A has a multiple of a rotation for each pair of dimensions, and nothing else.
    """
    vectors, found = rows(np.arange(length), d_model), []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        if rotating:
            product = np.zeros((d_model, d_model))
            for k, (x, y) in enumerate(rng.normal(size=(d_model // 2, 2))):
                product[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = [[x, y], [-y, x]]
        else:
            query, key = rng.normal(size=(2, d_model, d_model))
            product = query.T @ key
        found.append(offset_share(vectors @ product @ vectors.T))
    return float(np.mean(found))


def moving(d_model: int, length: int, span: float) -> int:
    """The number of dimensions that have values further apart than the span."""
    return int((np.ptp(rows(np.arange(length), d_model), axis=0) > span).sum())


def _small(value: float) -> str:
    return "0 up to rounding" if value < ROUNDING else f"{value:.2e}"


def _body() -> str:
    pairs = []
    for d, length in RANGES.items():
        offset, distance = closest(d, length)
        pairs.append((d, f"{length:,}", f"{offset:,}", f"{distance:.3g}", number(distance / math.sqrt(d / 2), 4)))
    repeats = [
        (d, *(f"{repeated(d, length, dtype):,}" for dtype in (np.float32, jnp.bfloat16) for length in (512, 10**4)))
        for d in (2, 4, 8, 16)
    ]
    shares = [(d, *(number(logits_share(d, 128, 5, rotating), 2) for rotating in (True, False))) for d in (8, 64)]
    used = [(d, *(moving(d, length, 0.1) for length in (10, 50, 512, 5000))) for d in (8, 64, 512)]
    ratios = [(d, number(10000 ** (2 / d), 3)) for d in (8, 26, 64, 512)]
    norms = [
        (d, number(math.sqrt(d / 2), 2), number(0.02 * math.sqrt(d), 2), "1.00", number(math.sqrt(d), 2))
        for d in (64, 512, 1024)
    ]
    return f"""## In [-1, 1], all of the same norm
Over positions 0 to 9,999 at d = 64, the smallest value is {number(bounds(64, 10**4)[0])} and the largest
{number(bounds(64, 10**4)[1])}. Each pair of dimensions is a point on the unit circle, so the norm is sqrt(d/2) at
every position; the largest deviation is {_small(norm_spread(64, 10**4))}.

## Every position has its own vector
Pair 0 turns by 1 radian per position, and no whole number except 0 is a multiple of 2 pi: in exact arithmetic, no two
integer positions have the same vector, at any length. The table shows the two positions below each length whose vectors
are closest (their distance depends only on the offset of the positions):

{table(["d", "length", "offset of the closest", "distance", "distance / norm"], pairs)}

Rounding hardly changes this, except at d = 2 in bfloat16. The number of positions below 512 and below 10,000 whose
vector equals an earlier one:

{table(["d", "float32, 512", "float32, 10,000", "bfloat16, 512", "bfloat16, 10,000"], repeats)}

## PE(p + k) is a linear function of PE(p)
A matrix that depends only on k takes PE(p) to PE(p + k): it turns pair j by k w_j. For k = 63, its largest error over
2,000 positions is {_small(rotation_error(8, 63, 2000))} at d = 8 and {_small(rotation_error(512, 63, 2000))} at
d = 512.

## Does attention depend only on offsets?
Products of two encodings do. Logits have projections in between, PE(p)^T W_q^T W_k PE(q). The table
shows the share of their variance over 128 x 128 pairs of positions that the offset explains (mean of 5 draws), for a
product W_q^T W_k that turns and scales each pair of dimensions and for one of random matrices. It is up to training to
make logits depend on the offset alone.

{table(["d", "turns and scales each pair", "random"], shares)}

## Do all dimensions tell positions apart?
The number of dimensions whose values differ by more than 0.1 somewhere below a length:

{table(["d", "10", "50", "512", "5,000"], used)}

## Are the dimensions like digits of a binary counter?
Each digit would have twice the period of the one before. Wavelengths grow by a factor of 10000^(2/d) from pair to
pair, which is 2 only for d = {number(2 * math.log2(10000), 1)}:

{table(["d", "factor"], ratios)}

## Are encodings small beside the embeddings?
The norm of an encoding, and of embeddings with standard deviation 0.02, 1/sqrt(d) and 1 (as in the paper, which
multiplies by sqrt(d)):

{table(["d", "encoding", "0.02", "1/sqrt(d)", "1"], norms)}"""


def _answer() -> str:
    return """At d = 64, the 32 pairs are turned by 63 w_0, 63 w_1, ...: a matrix with 32 blocks of 2 x 2, the same for
every p. `rotation` in `posenc_jax.lessons.properties` builds it; `rotation(64, 63) @ sinusoidal(np.array(5), 64)` is
the vector of position 68 up to rounding. The transposed matrix, the map for -63, turns it back."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

vectors = sinusoidal(np.arange(10_000), 64, dtype=np.float64)
norms = np.linalg.norm(vectors, axis=1)
print(f"values from {vectors.min():.2f} to {vectors.max():.2f}, norms from {norms.min():.4f} to {norms.max():.4f}")
print(len(np.unique(vectors, axis=0)), "different vectors")
"""
LESSON = Lesson(
    name="properties",
    title="Properties, measured",
    where="The chapter, 4.3.4, 4.3.5 and 4.3.8; Herath's article; the article on PyTorch",
    claim="Values are bounded, every position has its own vector, and the vector of p + k is a linear function of the "
    "vector of p.",
    verdict="confirmed",
    because="Values lie in [-1, 1], all norms are sqrt(d/2), no two vectors are equal, and a shift by k rotates each "
    "pair of dimensions.",
    code=CODE,
    body=_body,
    question="Which matrix takes the vector of position p to that of p + 63 at d_model 64? Which one takes it back?",
    answer=_answer,
    seconds=3,
    formula=r"\lVert \mathrm{PE}(p) \rVert = \sqrt{\frac{d}{2}}, \qquad \mathrm{PE}(p + k)_{j} = "
    r"\begin{pmatrix} \cos k\,\omega_j & \sin k\,\omega_j \\ -\sin k\,\omega_j & \cos k\,\omega_j \end{pmatrix} "
    r"\mathrm{PE}(p)_{j} \quad \text{for each pair } j",
)
