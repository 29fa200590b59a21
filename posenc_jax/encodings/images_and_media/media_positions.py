"""Positions of one sequence of texts, images of several sizes, films and sounds, made on the host."""

import itertools
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np


class Film(NamedTuple):
    """An image or a film: ``rows`` times ``columns`` tokens for every frame, and the position of each frame after the
    first, in positions: (0,) for an image, (0, 2, 4) for three frames that are two positions apart.
    """

    rows: int
    columns: int
    times: tuple[float, ...] = (0,)


def media_positions(
    parts: Sequence[int | Film], design: Literal["mrope", "reset", "diagonal", "indexed", "symmetric"] = "mrope"
) -> tuple[np.ndarray, float]:
    """``[S, 3]`` (``[S, 4]`` with "indexed" and "symmetric"): time, row and column of every token, as `Media` numbers
    them, which knows one size of images; and what is added to the place of a token that is generated after them for its
    position.

    Args:
      parts: in their order; a number of tokens of text, or of sound, of which each takes a position on all axes, or a
        `Film`.
      design: see `Media`.

    >>> positions, delta = media_positions([1, Film(2, 2), 1])
    >>> positions.tolist()
    [[0, 0, 0], [1, 1, 1], [1, 1, 2], [1, 2, 1], [1, 2, 2], [3, 3, 3]]
    >>> delta  # the next token, number 6, is at position 4
    -2

    Raises:
      ValueError: for a number below 0, a film without tokens or frames, times that fall or do not begin at 0, or
        another design.
    """
    if design not in ("mrope", "reset", "diagonal", "indexed", "symmetric"):
        raise ValueError(f"design = {design!r} is none of 'mrope', 'reset', 'diagonal', 'indexed', 'symmetric'")
    columns = 4 if design in ("indexed", "symmetric") else 3
    found: list[np.ndarray] = []
    start: float = 0
    images = 0
    for part in parts:
        if not isinstance(part, Film):
            if part < 0:
                raise ValueError(f"parts has {part} tokens of text: give a number from 0 on, or a Film for an image")
            numbers = start + np.arange(part)
            found.append(np.repeat(numbers[:, None], columns, axis=1))
            start += part
            continue
        numbers, start = _film(part, start, images, design)
        found.append(numbers)
        images += 1
    positions = np.concatenate(found) if found else np.zeros((0, columns), int)
    return positions, start - len(positions)


def _film(film: Film, start: float, images: int, design: str) -> tuple[np.ndarray, float]:
    """The positions of its tokens, and that of the text behind it."""
    rows, columns, times = film
    if min(rows, columns, len(times)) < 1 or times[0] != 0 or any(a > b for a, b in itertools.pairwise(times)):
        raise ValueError(
            f"{film} must have at least one row, column and frame, and times that begin at 0 and do not fall: "
            "Film(rows, columns) is an image"
        )
    frame, row, column = (axis.ravel() for axis in np.indices((len(times), rows, columns)))
    time = start + np.array(times)[frame]
    if design == "indexed":
        places = start + np.arange(len(time))
        return np.stack([places, column, row, np.full_like(places, images)], axis=1), start + len(time)
    if design == "symmetric":
        corner = rows + columns - 1
        both = [r + c for r in (row, rows - 1 - row) for c in (column, columns - 1 - column)]
        return np.stack([start + frame * corner + own for own in both], axis=1), start + len(times) * corner
    if design == "diagonal":
        across = time + row - (rows - 1) // 2, time + column - (columns - 1) // 2
        return np.stack([time, *across], axis=1), start + times[-1] + 1
    across = (row, column) if design == "reset" else (start + row, start + column)
    return np.stack([time, *across], axis=1), start + max(times[-1], rows - 1, columns - 1) + 1
