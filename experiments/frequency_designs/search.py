"""Frequencies chosen so that no far position looks like a near one, and what the best of them could do.

The kernel ``K(k) = mean over j of cos(k w_j)`` says how alike two sinusoidal positions are that lie k apart. Around
offset 0 it has its main lobe; beyond it, other offsets where K is large are aliases. The *peak side-lobe level* over a
length L is the largest K(k) for M <= k < L, with M the end of the main lobe.

Frequencies near zero have no side lobes and tell nothing apart, so levels are compared at equal resolution only, that
of Vaswani's frequencies with base 10000 for the same d_model (`resolution`): K(1) no higher, so that neighbours are
told apart as well, and all offsets count from the one on at which Vaswani's main lobe is over. (Where K still falls at
that offset, its slope counts as a side lobe.) What this buys is paid for in far offsets: they are all alike, since the
low frequencies that told them apart are gone, and nothing is promised from L on.

The numbers that `posenc_jax.encodings.frequency_designs` stores are what this prints (a few minutes)::

    python -m experiments.frequency_designs.search
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.encodings.frequency_designs import DIMENSIONS, LENGTHS, UNIT
from posenc_jax.encodings.shared.phase import vaswani_frequencies

BASES = range(2, 10001)
ENOUGH = 1e-3  # a level below which a lower one is no better
_SHORTFALL = 1e-5  # of K(1): frequencies are rounded after the search
_APART = 0.25  # least distance of two frequencies, in that of as many evenly spaced ones of the same K(1)
_RANDOM = {4: (200_000, 30), 8: (50_000, 15), 16: (10_000, 6), 32: (4_000, 3)}  # starts tried, and continued, by F


class Resolution(NamedTuple):
    """Resolution of near positions by Vaswani's frequencies.

    Attributes:
      neighbours: K(1).
      main_lobe: the first offset at which K rises.
    """

    neighbours: float
    main_lobe: int


def resolution(d_model: int) -> Resolution:
    """The resolution of Vaswani's frequencies with base 10000.

    >>> round(resolution(8).neighbours, 6), resolution(8).main_lobe
    (0.883814, 4)
    """
    values = kernel(vaswani_frequencies(d_model), np.arange(512))
    main_lobe = lobes(values).main_lobe
    assert main_lobe is not None
    return Resolution(float(values[1]), main_lobe)


def side_lobe_level(frequencies: np.ndarray, length: int, main_lobe: int) -> float:
    """The largest K(k) for ``main_lobe <= k < length``."""
    return float(_values(np.arange(main_lobe, length), np.asarray(frequencies, np.float64)).max())


def _values(offsets: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """`kernel`, for small offsets faster."""
    return np.cos(np.outer(offsets, frequencies)).mean(axis=1)


def best_base(d_model: int, length: int) -> int:
    """The whole number from 2 to 10000 that, as the base, gives the lowest side-lobe level, of all of them tried.

    All have K(1) no higher than base 10000. Levels below `ENOUGH` count as equal, and of equal ones the largest base
    is taken, whose kernel is the smoothest.
    """
    _check(d_model, length)
    main_lobe = resolution(d_model).main_lobe
    levels = [max(side_lobe_level(vaswani_frequencies(d_model, b), length, main_lobe), ENOUGH) for b in BASES]
    return max(base for base, level in zip(BASES, levels, strict=True) if level == min(levels))


def minimax(d_model: int, length: int) -> tuple[float, ...]:
    """The ``d_model / 2`` frequencies with the lowest side-lobe level found, ascending, multiples of `UNIT`.

    K(1) is that of Vaswani's to 1e-4 and no higher. From each of some starts, a sequence of linear programs: the
    largest linearised K(k) is minimised within a trust region, at constant K(1), with frequencies kept somewhat apart;
    it ends at a local minimum, or below `ENOUGH`. Starts: the quantiles of a cosine density, and up to 32 frequencies
    the best of many random sets. A pure function, though another version of a library may end in another minimum.
    """
    _check(d_model, length)
    count, (neighbours, main_lobe) = d_model // 2, resolution(d_model)
    target = neighbours - _SHORTFALL
    starts = [np.arcsin(np.arange(1, count + 1) / count)]
    if count <= max(_RANDOM):
        starts += _random_starts(count, length, main_lobe, target)
    found = [_descend(_with_neighbours(w, target), length, main_lobe, target) for w in starts]
    best = min(found, key=lambda w: side_lobe_level(w, length, main_lobe))
    return tuple((np.round(best / UNIT) * UNIT).tolist())


def lower_bound(d_model: int, length: int, degree: int = 8) -> float:
    """A level below which the side lobes of no ``d_model / 2`` frequencies are, at the resolution of Vaswani's.

    Of kernels that within the main lobe, 1 <= k < M, are no larger than Vaswani's K(1). For a polynomial
    ``p(x) = sum_n c_n x^n`` with ``c_n >= 0`` for n >= 1, the powers of K are sums of characters with coefficients
    that are not negative, and so is the Fejer sum of every character; the constant ones alone give::

        sum over |k| < L of (1 - |k| / L) p(K(k)) >= L E[p(X)],   X = mean of F cosines of independent uniform angles

    If K <= s from M on and p <= 0 on [-1, s], then the left side is at most that of |k| < M, which must not be less
    than the right. The largest s that some p of this ``degree`` refutes is the bound (linear programs, bisection);
    with ``p = x^2`` this is Welch's bound. As Delsarte, P. (1973), An Algebraic Approach to the Association Schemes of
    Coding Theory, has it for codes. It is far from tight for many frequencies, where it says less than "0".
    """
    from scipy.optimize import linprog  # comes with jax

    _check(d_model, length)
    neighbours, main_lobe = resolution(d_model)
    powers, near = np.arange(degree + 1), np.arange(1, main_lobe)
    moments = torus_moments(d_model // 2, degree)
    excess = length * moments - 1 - 2 * (1 - near / length).sum() * neighbours**powers
    nodes = (1 - np.cos(np.linspace(0, np.pi, 400))) / 2

    def refuted(level: float) -> bool:
        values = (-1 + nodes * (level + 1))[:, None] ** powers
        solved = linprog(
            -excess,
            values,
            np.full(len(nodes), -1e-6),
            A_eq=np.ones((1, degree + 1)),
            b_eq=[1.0],
            bounds=[(None, None)] + [(0, None)] * degree,
            method="highs",
        )
        return solved.status == 0 and -solved.fun > 0

    low, high = -1.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


def torus_moments(count: int, degree: int) -> np.ndarray:
    """``E[X^n]`` for n = 0 .. degree, X the mean of ``count`` cosines of independent phases: n! times the coefficients
    of ``I_0(t / count)^count``, exact until the end.
    """
    half = degree // 2
    one = [Fraction(1, 4**m * math.factorial(m) ** 2 * count ** (2 * m)) for m in range(half + 1)]
    power = [Fraction(1)]
    for n in range(1, half + 1):
        terms = ((k * count - n + k) * one[k] * power[n - k] for k in range(1, n + 1))
        power.append(sum(terms, Fraction(0)) / n)
    moments = np.zeros(degree + 1)
    moments[::2] = [float(power[m] * math.factorial(2 * m)) for m in range(half + 1)]
    return moments


def _check(d_model: int, length: int) -> None:
    if d_model < 4 or d_model % 2:
        raise ValueError(f"d_model = {d_model} must be even and at least 4: a design has two frequencies or more")
    main_lobe = resolution(d_model).main_lobe
    if length <= main_lobe:
        raise ValueError(
            f"length = {length} ends within the main lobe: for d_model = {d_model} it must be above {main_lobe}"
        )


def _with_neighbours(frequencies: np.ndarray, neighbours: float) -> np.ndarray:
    """The frequencies times the factor that makes K(1) ``neighbours`` (Newton's method), each row by itself."""
    w = frequencies * np.sqrt(2 * (1 - neighbours) / (frequencies**2).mean(axis=-1, keepdims=True))
    for _ in range(12):
        miss = np.cos(w).mean(axis=-1, keepdims=True) - neighbours
        slope = -(w * np.sin(w)).mean(axis=-1, keepdims=True)
        w = w * (1 - np.clip(miss / slope, -0.3, 0.3))
    return w


def _random_starts(count: int, length: int, main_lobe: int, neighbours: float) -> list[np.ndarray]:
    """The best of many random sets, densest near zero, even, or densest at the top."""
    tried, kept = _RANDOM[min(f for f in _RANDOM if f >= count)]
    random = np.random.default_rng(0)
    sets = random.uniform(size=(tried, count)) ** random.uniform(0.4, 1.8, size=(tried, 1))
    sets = _with_neighbours(sets, neighbours)
    before, cosines, twice = np.ones_like(sets), np.cos(sets), 2 * np.cos(sets)
    levels = np.full(tried, -1.0)
    for k in range(1, length):  # cos((k+1) w) = 2 cos(w) cos(k w) - cos((k-1) w)
        if k >= main_lobe:
            levels = np.maximum(levels, cosines.mean(axis=1))
        before, cosines = cosines, twice * cosines - before
    return list(sets[np.argsort(levels, kind="stable")[:kept]])


def _descend(start: np.ndarray, length: int, main_lobe: int, neighbours: float) -> np.ndarray:
    """A local minimum of the level, from ``start``."""
    from scipy.optimize import linprog  # comes with jax

    w, count = np.sort(start), len(start)
    apart = _APART * math.sqrt(6 * (1 - neighbours)) / count
    for i in range(1, count):
        w[i] = max(w[i], w[i - 1] + apart)
    w = _with_neighbours(w, neighbours)
    offsets = np.arange(main_lobe, length)
    level, radius = _values(offsets, w).max(), 1.2 / length
    steps = np.eye(count)[:-1] - np.eye(count)[1:]
    for _ in range(60):
        if level < ENOUGH or radius < 1e-7:
            break
        current = _values(offsets, w)
        high = current > level - 0.35  # others cannot become the largest within the region
        slopes = -offsets[high, None] * np.sin(np.outer(offsets[high], w)) / count
        solved = linprog(
            np.append(np.zeros(count), 1.0),
            np.block([[slopes, -np.ones((len(slopes), 1))], [steps, np.zeros((count - 1, 1))]]),
            np.append(-current[high], np.maximum(-steps @ w - apart, 0)),
            A_eq=np.append(-np.sin(w) / count, 0.0)[None],
            b_eq=[neighbours - np.cos(w).mean()],
            bounds=[(max(-radius, -x), radius) for x in w] + [(-1, 1)],
            method="highs",
        )
        if solved.x is None:
            radius /= 2
            continue
        moved = _with_neighbours(w + solved.x[:count], neighbours)
        gain, promised = level - _values(offsets, moved).max(), level - solved.x[count]
        if gain > 1e-7:
            w, level = moved, level - gain
            radius *= 1.6 if gain > promised / 2 else 1
        else:
            radius /= 3
    return np.sort(w)


def _print_tables() -> None:
    for length in LENGTHS:
        for d_model in DIMENSIONS:
            units = " ".join(str(round(w / UNIT)) for w in minimax(d_model, length))
            print(f"({length}, {d_model}): {best_base(d_model, length)}, {units!r}", flush=True)


if __name__ == "__main__":
    _print_tables()
