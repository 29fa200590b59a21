"""Properties of position vectors, each measured: is it so, and the number that says so."""

import dataclasses
import math

import numpy as np

from posenc_jax.analysis.kernels import by_offset
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.show.measured import MeasuredEncoding, distances

EXAMPLE = 5  # the position told of when its neighbours are not nearest, else the first
# Above the rounding of float64 vectors and their products, below anything that a figure shows.
_EXACT = 1e-9
_SAME = 1e-6  # distances of neighbours, relative to the norm


@dataclasses.dataclass(frozen=True)
class Property:
    """``holds`` is None where there is nothing to measure; ``measured`` says why, or the numbers."""

    name: str
    holds: bool | None
    measured: str


NAMES = ("bounded in [-1, 1]", "unique", "constant norm", "products by offset", "linear shift", "neighbours nearest")


def properties(measured: MeasuredEncoding) -> tuple[Property, ...]:
    """One `Property` for each of `NAMES`, of vectors ``[P, M]`` at positions ``0 .. P-1``.

    Bounded: every value is in [-1, 1]. Unique: no two vectors are equal. Constant norm: of sines and cosines it is
    sqrt(M / 2). Products by offset: vector(p) . vector(p + k) depends on k only. Linear shift: one linear map for each
    k takes vector(p) to vector(p + k) at positions where it was not fitted. Neighbours nearest: the nearest vector of
    every position is that of a position beside it.
    """
    vectors = measured.vectors
    if vectors is None:
        return tuple(Property(name, None, "has no vectors") for name in NAMES)
    if len(vectors) < 3:
        return tuple(Property(name, None, "needs three positions") for name in NAMES)
    if not np.isfinite(vectors).all():
        return tuple(Property(name, None, "some vectors are not finite") for name in NAMES)
    between = distances(vectors)
    found = (_bounded(vectors), _unique(vectors, between), _norm(vectors), _by_offset(vectors), _linear(measured))
    return (*found, _smooth(vectors, between))


def _bounded(vectors: np.ndarray) -> Property:
    low, high = float(vectors.min()), float(vectors.max())
    return Property(NAMES[0], low >= -1 and high <= 1, f"values from {low:.4g} to {high:.4g}")


def _unique(vectors: np.ndarray, between: np.ndarray) -> Property:
    upper = np.where(np.tri(len(between), dtype=bool), np.inf, between)
    a, b = (int(i) for i in np.unravel_index(upper.argmin(), upper.shape))
    return Property(NAMES[1], bool(upper[a, b] > 0), f"smallest distance {upper[a, b]:.4g}, between {a} and {b}")


def _norm(vectors: np.ndarray) -> Property:
    norms = np.linalg.norm(vectors, axis=1)
    mean, expected = norms.mean(), math.sqrt(vectors.shape[1] / 2)
    drift = float(np.abs(norms / mean - 1).max()) if mean else 0.0
    said = f" = sqrt({vectors.shape[1]} / 2)" if abs(mean / expected - 1) < _EXACT else ""
    if drift < _EXACT:
        return Property(NAMES[2], True, f"{mean:.4g}{said}")
    return Property(NAMES[2], False, f"{norms.min():.4g} to {norms.max():.4g}, mean {mean:.4g}")


def _by_offset(vectors: np.ndarray) -> Property:
    products = vectors @ vectors.T
    scale = float(np.trace(products)) / len(products) or 1.0
    # The longest offset with two pairs.
    spread = max(float(np.ptp(np.diagonal(products, k))) for k in range(len(products) - 1)) / scale
    return Property(NAMES[3], spread < _EXACT, f"products at one offset differ by {spread:.2g} of the squared norm")


def _linear(measured: MeasuredEncoding) -> Property:
    if measured.shifts is None:
        return Property(NAMES[4], None, "not measured for a single picture")
    k, worst = max(measured.shifts.items(), key=lambda item: item[1])
    return Property(NAMES[4], worst < _EXACT, f"relative residual {worst:.2g} at most, for k = {k}")


def _smooth(vectors: np.ndarray, between: np.ndarray) -> Property:
    """A far position fails a position when it is nearer than both of the neighbours, by more than rounding."""
    count, scale = len(between), float(np.linalg.norm(vectors, axis=1).mean()) or 1.0
    beside = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    neighbours = np.where(beside == 1, between, np.inf)
    others = np.where(beside > 1, between, np.inf)
    gap = (neighbours.min(axis=1) - others.min(axis=1)) / scale
    failing = np.flatnonzero(gap > _SAME)
    if not failing.size:
        return Property(NAMES[5], True, f"at all {count} positions")
    position = EXAMPLE if EXAMPLE in failing else int(failing[0])
    other, near = int(others[position].argmin()), int(neighbours[position].argmin())
    return Property(
        NAMES[5],
        False,
        f"fails at {failing.size} of {count}: nearest to {position} is {other} ({between[position, other]:.4g}), "
        f"not {near} ({between[position, near]:.4g})",
    )


LOGITS = ("logits by distance", "neighbours largest", "turns")


def of_logits(measured: MeasuredEncoding) -> tuple[Property, ...]:
    """Properties of the logits of queries and keys of equal contents, in the first head of an encoding without vectors.

    Logits by distance: those of one distance are equal. Neighbours largest: no key farther away has a larger logit than
    the key beside the query. Turns: the positions in which the planes of a rotation turn once. Those that do not apply
    are left out.
    """
    whole = [own[0] for own in (measured.products, measured.bias) if own is not None]
    found = []
    if whole and len(logits := np.sum(whole, axis=0)) > 2 and np.isfinite(logits).all():
        scale = float(np.abs(logits).max()) or 1.0
        means, largest, smallest = (by_offset(logits, of) for of in ("mean", "max", "min"))  # keys before their queries
        spread = float((largest - smallest).max()) / scale
        found.append(
            Property(LOGITS[0], spread < _SAME, f"those at the same distance differ by {spread:.2g} of the largest")
        )
        far = 2 + int(means[2:].argmax())
        nearest = bool(means[1] >= means[far] - _SAME * scale)
        found.append(
            Property(LOGITS[1], nearest, f"{means[1]:.4g} at distance 1, {means[far]:.4g} at most beyond it, at {far}")
        )
    if measured.frequencies is not None and (turning := measured.frequencies[measured.frequencies > 0]).size:
        turns = 2 * math.pi / turning
        found.append(
            Property(LOGITS[2], None, f"{turns.size} planes, in {turns.min():.5g} to {turns.max():.5g} positions")
        )
    return tuple(found)


def table(measured: MeasuredEncoding) -> TextTable:
    """The work of an encoding and its properties, one line each; of one without vectors those of its logits, which a
    note says.
    """
    columns = ("property", "holds", "measured")
    notes = [measured.note] if measured.note else []
    found = properties(measured)
    if measured.vectors is None:
        found = of_logits(measured)
        if any(own.name in LOGITS[:2] for own in found):
            notes.insert(0, "Measured on the logits of queries and keys of equal contents, in the first head.")
    answers = {True: "yes", False: "no", None: "-"}
    entries = tuple((p.name, answers[p.holds], p.measured) for p in found)
    return TextTable(measured.label, columns, "lll", entries, tuple(notes), lead=measured.about)
