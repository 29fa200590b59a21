"""Offsets at which sinusoidal positions look alike again, found without looking at every offset."""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from posenc_jax.analysis.kernels import ROUNDING, checked, kernel
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.shared.phase import fixed_point

MAX_OFFSET = 2**40  # up to here phases are right to 2e-7 radians
MOST_WORK = 2 * 10**8  # angles of one frequency at one interval: some five seconds
_AT_ONCE = 2**16  # intervals in memory


class Alias(NamedTuple):
    """An offset, and the similarity ``K(offset)`` of positions that far apart (see `kernel`)."""

    offset: int
    similarity: float


class Return(NamedTuple):
    """An offset, the whole turns that a frequency has nearly made there, and by how many radians it misses them."""

    offset: int
    turns: int
    miss: float


def near_aliases(frequencies: Array, max_offset: int, level: float) -> tuple[Alias, ...]:
    """All offsets k in 1 .. ``max_offset`` that are a local maximum of K with ``K(k) >= level``, ascending.

    ``frequencies [F]``, radians per position. A local maximum is an offset into which K rises, ``K(k) > K(k - 1)``, and
    after which it falls, ``K(k) > K(k + 1)``; of a plateau it is the first offset. Since K falls all over the main lobe
    (see `lobes`), none of them lies within it. ``K(max_offset + 1)`` counts as a neighbour. Values of K that differ by
    up to 1e-12 are equal.

    The search is branch and bound over intervals of offsets. ``F (1 - K(k)) = sum_j 2 sin^2(k w_j / 2)``, in which no
    term is negative, so that an offset of the level has no angle ``k w_j`` far from a whole turn. Let an interval have
    the centre c and reach no further than h. From c to any k in it the angle changes by at most ``h |w_j|``, so that
    with ``x_j`` for the distance of ``c w_j`` from the nearest whole turn, in radians::

        F (1 - K(k)) >= sum_j 2 sin^2(max(0, x_j - h |w_j|) / 2)   for all k of the interval

    Where the right side exceeds ``F (1 - level)`` the interval holds nothing and is dropped; others are halved, until
    single offsets are left, whose K is computed. So no offset of the level is ever dropped: the result is complete.
    Distances are those of integers (phases in 2**-64 turns), compared with a margin of 1e-9 for the rounding of sines.

    An interval cannot be dropped while it is longer than the wavelengths of all but the ``F (1 - level) / 2`` lowest
    frequencies, so the work is that of about ``max_offset`` over such a wavelength intervals. At levels above
    ``1 - 2 / F`` that is the longest of all: at 0.99 up to 1e9 offsets, with base 1e4, 5.7 million intervals of all
    lengths for the 89875 aliases of d_model 8 (F = 4), 0.6 million for the 8 aliases of d_model 16. The work grows in
    proportion to ``max_offset``, and it becomes a scan of all offsets where that wavelength is a few positions: at
    levels near 0, and for sets of high frequencies only.

    >>> from posenc_jax.encodings import vaswani_frequencies
    >>> [(k, round(s, 6)) for k, s in near_aliases(vaswani_frequencies(8), 30000, 0.99)]
    [(6283, 0.995677), (25133, 0.991592)]

    Raises:
      ValueError: ``max_offset`` below 1 or above `MAX_OFFSET`; a level above 1; frequencies that are not a row of
        finite numbers; a search of more than `MOST_WORK` steps.
    """
    return _aliases(checked(frequencies), 1, checked_offset(max_offset), level)


def first_alias(frequencies: Array, max_offset: int, level: float) -> Alias | None:
    """The first of `near_aliases`, found sooner; None where there is none."""
    frequencies, start, stop = checked(frequencies), 1, 1024
    checked_offset(max_offset)
    while start <= max_offset:
        found = _aliases(frequencies, start, min(stop, max_offset), level)
        if found:
            return found[0]
        start, stop = stop + 1, stop * 4
    return None


def returns(frequency: float, max_offset: int) -> tuple[Return, ...]:
    """The offsets 1 .. ``max_offset`` at which one frequency comes nearer to whole turns than at any offset before.

    They are the denominators of the convergents of the continued fraction of its turns per position, ``w / 2 pi``
    (Khinchin 1964, theorems 16 and 17). For w = 0.1 the first good one is 63, one turn and 0.017 radians: 63 is
    close to 20 pi. Where ratios of frequencies are whole, as with d_model 8 and base 1e4 (ratio 10), what returns the
    slower one returns the faster ones too: they miss by 10 times as much, 63 = 10 turns and 0.17 radians.

    >>> [(r.offset, r.turns, round(r.miss, 4)) for r in returns(0.1, 1000)]
    [(1, 0, 0.1), (62, 1, -0.0832), (63, 1, 0.0168), (314, 5, -0.0159), (377, 6, 0.0009)]

    Raises:
      ValueError: as `near_aliases`; a frequency that is not finite.
    """
    checked_offset(max_offset)
    word = int(fixed_point(checked(np.array([frequency])))[0])
    turn, whole = Fraction(word, 2**64), round(frequency / math.tau - word / 2**64)
    found: list[Return] = []
    before, now, rest = (1, 0), (0, 1), turn  # convergents p / q
    while now[1] <= max_offset:
        offset = now[1]
        miss = float(offset * turn - now[0]) * math.tau
        if found and found[-1].offset == offset:  # the fraction is above a half: one turn is nearer than none
            found.pop()
        found.append(Return(offset, now[0] + offset * whole, miss))
        if not rest:
            break
        digit = math.floor(1 / rest)
        rest = 1 / rest - digit
        before, now = now, (before[0] + digit * now[0], before[1] + digit * now[1])
    return tuple(found)


def checked_offset(max_offset: int) -> int:
    """ValueError for offsets that cannot be searched."""
    if not 1 <= max_offset <= MAX_OFFSET:
        raise ValueError(
            f"max_offset = {max_offset} must lie in 1 .. {MAX_OFFSET} (2**40): beyond it phases lose the seventh digit"
        )
    return int(max_offset)


def _aliases(frequencies: np.ndarray, start: int, stop: int, level: float) -> tuple[Alias, ...]:
    if not level <= 1:
        raise ValueError(
            f"level = {level} must be at most 1, the similarity of a position with itself: 0.9 finds close ones"
        )
    offsets = _of_level(frequencies, start, stop, level)
    values = kernel(frequencies, offsets)
    high = values >= level - ROUNDING
    offsets, values = offsets[high], values[high]
    rises = values - kernel(frequencies, offsets - 1) > ROUNDING
    offsets, values = offsets[rises], values[rises]
    falls = _falls_after(frequencies, offsets, values)
    return tuple(Alias(int(k), float(v)) for k, v in zip(offsets[falls], values[falls]))


def _falls_after(frequencies: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    """True for each offset after which the first change of K is downwards."""
    falls = np.zeros(len(offsets), bool)
    undecided, ahead = np.arange(len(offsets)), 0
    while undecided.size and ahead < 1024:  # a plateau as long comes of frequencies below 1e-7 only
        ahead += 1
        change = kernel(frequencies, offsets[undecided] + ahead) - values[undecided]
        falls[undecided[change < -ROUNDING]] = True
        undecided = undecided[np.abs(change) <= ROUNDING]
    return falls


def _of_level(frequencies: np.ndarray, start: int, stop: int, level: float) -> np.ndarray:
    """All offsets of ``start .. stop`` with K of the level, and some that nearly have it; ascending."""
    words = fixed_point(frequencies)
    turning = np.abs(words.view(np.int64).astype(np.float64)) / 2.0**64  # turns per position, at most a half
    order = np.argsort(turning)
    words, turning = words[order][turning[order] > 0], turning[order][turning[order] > 0]
    budget = len(frequencies) * (1 - level) + 1e-9
    width = _first_width(turning, budget, stop)
    count = (stop - start) // width + 1
    work = count
    _check_work(work, frequencies, stop, level)
    found = []
    for chunk in range(0, count, _AT_ONCE):
        first = start + width * np.arange(chunk, min(chunk + _AT_ONCE, count), dtype=np.int64)
        pieces = [(width, first)]
        while pieces:
            width_now, starts = pieces.pop()
            starts, steps = _possible(words, turning, starts, width_now // 2, budget)
            work += steps
            _check_work(work, frequencies, stop, level)
            if width_now == 1:
                found.append(starts)
                continue
            half = width_now // 2
            halves = np.stack([starts, starts + half], axis=1).ravel()
            halves = halves[halves <= stop]
            # The last first, so that offsets come in ascending order.
            parts = np.array_split(halves, halves.size // _AT_ONCE + 1)
            pieces += [(half, part) for part in reversed(parts) if part.size]
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _first_width(turning: np.ndarray, budget: float, stop: int) -> int:
    """A power of two: intervals of which some can be dropped; 1 where none ever can."""
    needed = int(budget / 2)  # terms are at most 2: of so many lowest frequencies and one more
    if needed >= len(turning):
        return 1
    longest = min(0.5 / turning[needed], stop)
    return 2 ** max(int(math.log2(longest)), 0)


def _possible(
    words: np.ndarray, turning: np.ndarray, starts: np.ndarray, half: int, budget: float
) -> tuple[np.ndarray, int]:
    """The intervals ``starts .. starts + 2 half - 1`` (of one offset, for half 0) that the bound leaves, and the number
    of angles computed. Frequencies ascend: the lowest exclude most intervals.
    """
    total, steps = np.zeros(starts.size), 0
    alone = math.asin(math.sqrt(min(budget / 2, 1))) + 1e-9  # how far one angle may be from a whole turn, halved
    for word, turn in zip(words, turning):
        if half * turn >= 0.5 or not starts.size:
            break
        phase = ((starts + half).astype(np.uint64) * word).view(np.int64).astype(np.float64)
        away = np.abs(phase) * (math.pi / 2.0**64) - math.pi * half * turn
        steps += starts.size
        near = np.flatnonzero(away <= alone)  # most fall here, before any sine
        total = total[near] + 2 * np.sin(np.maximum(away[near], 0)) ** 2
        kept = total <= budget
        starts, total = starts[near[kept]], total[kept]
    return starts, steps


def _check_work(work: int, frequencies: np.ndarray, stop: int, level: float) -> None:
    if work > MOST_WORK:
        raise ValueError(
            f"near aliases of {len(frequencies)} frequencies at level {level} up to offset {stop} take more than "
            f"{MOST_WORK:.0e} steps: raise the level or lower the offset"
        )
