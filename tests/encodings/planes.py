"""Oracles of rotations: planes as complex numbers, and the exponential of a matrix."""

import numpy as np


def turned(x, angles, layout):
    """A vector with plane k turned by ``angles[k]``; dimensions of no plane stay."""
    out, planes = np.array(x), len(angles)
    for k, angle in enumerate(angles):
        a, b = (2 * k, 2 * k + 1) if layout == "interleaved" else (k, planes + k)
        number = complex(x[a], x[b]) * np.exp(1j * angle)
        out[a], out[b] = number.real, number.imag
    return out


def exponential(matrix):
    """exp(matrix) by squaring exp(matrix / 2^10), from its power series."""
    squarings = 10
    small, term, total = matrix / 2**squarings, np.eye(len(matrix)), np.eye(len(matrix))
    for n in range(1, 16):
        term = term @ small / n
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return total
