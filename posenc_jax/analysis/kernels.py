"""Similarity of two positions as a function of their offset, and the offsets at which it returns.

The vectors of plain sinusoidal positions p and p + k, and the logits that RoPE gives to equal contents, depend on k
only: on the mean cosine of the angles by which k turns each frequency. Other encodings have no closed form; what was
measured of them, position against position, becomes values by offset too (`by_offset`), of which `lobes` says the same.
"""

from typing import Literal, NamedTuple

import numpy as np

from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.shared.phase import sincos

ROUNDING = 1e-12  # of a similarity in float64: what differs by less is equal
_AT_ONCE = 2**20  # cosines in memory


def kernel(frequencies: Array, offsets: Array) -> np.ndarray:
    """``K(k) = mean over j of cos(k w_j)``, float64, in the shape of ``offsets``, for ``frequencies`` w ``[F]``.

    Radians per position. It is the cosine of the angle between the sinusoidal vectors of positions p and p + k, for
    every p, since ``PE[p] . PE[p + k] = sum_j cos(k w_j)`` and every vector has squared norm F; and, of RoPE, the
    product of equal contents spread evenly over the planes. K(0) = 1, K(-k) = K(k). Whole offsets have exact
    phases (`sincos`): the error is 2e-14 up to offsets of 1e5, 1e-9 at 2**31.

    >>> from posenc_jax.encodings import vaswani_frequencies
    >>> kernel(vaswani_frequencies(8), np.array([0, 1, 63])).round(6).tolist()
    [1.0, 0.883814, 0.94795]

    Raises:
      ValueError: no frequencies, or one that is not finite.
    """
    frequencies, offsets = checked(frequencies), np.asarray(offsets)
    values = [sincos(part, frequencies, np.float64)[1].mean(axis=-1) for part in _parts(offsets, frequencies)]
    return np.concatenate(values).reshape(offsets.shape)


def distances(frequencies: Array, offsets: Array) -> np.ndarray:
    """``|PE[p + k] - PE[p]| = sqrt(2 F (1 - K(k)))`` in the shape of ``offsets``: distances of vectors of norm sqrt(F).

    Summed from differences of sines and cosines, so that neighbours are right to the last digit too, where 1 - K(k)
    would lose theirs.
    """
    frequencies, offsets = checked(frequencies), np.asarray(offsets)
    values = []
    for part in _parts(offsets, frequencies):
        sin, cos = sincos(part, frequencies, np.float64)
        values.append(np.sqrt((sin**2 + (1 - cos) ** 2).sum(axis=-1)))
    return np.concatenate(values).reshape(offsets.shape)


def cosines(vectors: Array) -> np.ndarray:
    """``[..., P, P]``, float64: cosines of all pairs of ``vectors [..., P, V]``; NaN for a vector of length 0."""
    vectors = np.asarray(vectors, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit @ unit.swapaxes(-1, -2)


def by_offset(pairs: Array, of: Literal["mean", "max", "min"] = "mean") -> np.ndarray:
    """``[..., P]`` of ``pairs [..., P, P]``: the mean (largest, smallest) over all positions p of ``pairs[p, p - k]``,
    a position against the one k before it, for offsets k = 0 .. P-1. The mean is of P - k values. ValueError where
    the last two axes are not positions against positions.
    """
    pairs = np.asarray(pairs, np.float64)
    if pairs.ndim < 2 or pairs.shape[-1] != pairs.shape[-2] or not pairs.shape[-1]:
        raise ValueError(f"pairs of shape {pairs.shape} must be [..., P, P], each position against each: see cosines")
    diagonals = [np.diagonal(pairs, -k, axis1=-2, axis2=-1) for k in range(pairs.shape[-1])]
    return np.stack([getattr(diagonal, of)(axis=-1) for diagonal in diagonals], axis=-1)


class Lobes(NamedTuple):
    """The result of `lobes`.

    Attributes:
      main_lobe: the first offset that is more similar than the one before it, at which the main lobe is over; None
        where the similarity never rises.
      offset, level: the most similar offset from there on (the first, of several), and its similarity: the peak side
        lobe; None without any.
      maxima: the offsets of all local maxima from there on, ascending.
    """

    main_lobe: int | None
    offset: int | None
    level: float | None
    maxima: tuple[int, ...]


def lobes(values: Array, rounding: float = ROUNDING) -> Lobes:
    """Main lobe and side lobes of similarities ``values [L]`` at offsets 0 .. L-1, of any kind, larger meaning closer.

    A local maximum is an offset into which the similarity rises and after which, perhaps on a plateau, of which it is
    the first, it falls; the last offset is one if the similarity rises until there. Differences of up to ``rounding``
    are none: give about 1e-6 for what was measured in float32.

    >>> lobes(np.array([1.0, 0.5, 0.0, 0.5, 0.7, 0.7, 0.1, 0.2]))
    Lobes(main_lobe=3, offset=4, level=0.7, maxima=(4, 7))

    Raises:
      ValueError: values that are not one row, or not finite.
    """
    values = np.asarray(values, np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"similarities of shape {values.shape} with {np.count_nonzero(~np.isfinite(values))} that are not finite: "
            "lobes are those of one row of finite values, by offset from 0 on"
        )
    steps = np.diff(values)
    changes = np.flatnonzero(np.abs(steps) > rounding)
    rising = steps[changes] > 0
    if not rising.any():
        return Lobes(None, None, None, ())
    main_lobe = int(changes[rising.argmax()]) + 1
    tops = changes[rising & ~np.append(rising[1:], False)] + 1
    offset = main_lobe + int(values[main_lobe:].argmax())
    return Lobes(main_lobe, offset, float(values[offset]), tuple(tops.tolist()))


def checked(frequencies: Array) -> np.ndarray:
    """Frequencies ``[F]`` in float64; ValueError where there is nothing to take the mean of."""
    frequencies = np.asarray(frequencies, np.float64)
    if frequencies.ndim != 1 or not frequencies.size or not np.isfinite(frequencies).all():
        raise ValueError(
            f"frequencies {frequencies} must be one row of finite numbers, radians per position, and not empty: as "
            "vaswani_frequencies(8) gives them"
        )
    return frequencies


def _parts(offsets: np.ndarray, frequencies: np.ndarray) -> list[np.ndarray]:
    """Flat pieces that fit in memory, one at least."""
    return np.array_split(offsets.ravel(), offsets.size * frequencies.size // _AT_ONCE + 1)
