"""Long texts in pieces that fit, cut between sentences where that is possible."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence

from posenc_jax.data.documents.sentences import END

_WORD = re.compile(r"\s+")


def windows(text: str, fits: Callable[[str], bool]) -> list[str]:
    """``text`` in order as pieces that fit, each as long as it can be; white space between pieces is dropped.

    A piece ends with a sentence (at ``.!?…。！？`` or the end of a line), else with a word, else with any character. No
    pieces when not even one character fits.

    >>> windows("One two. Three four five. Six.", lambda piece: len(piece) <= 16)
    ['One two.', 'Three four five.', 'Six.']
    """
    ends: tuple[Sequence[int], ...] = (
        [*(match.end() for match in END.finditer(text)), len(text)],
        [*(match.end() for match in _WORD.finditer(text)), len(text)],
        range(1, len(text) + 1),
    )
    pieces, start = [], 0
    while start < len(text):
        end = _end(text, start, ends, fits)
        if end is None:
            return []
        pieces.append(text[start:end].strip())
        start = end
    return [piece for piece in pieces if piece]


def _end(text: str, start: int, ends: tuple[Sequence[int], ...], fits: Callable[[str], bool]) -> int | None:
    """The end of the piece that begins at ``start``: the furthest fitting end of the first kind that has any."""
    furthest = (_furthest(kind, start, lambda end: fits(text[start:end].strip())) for kind in ends)
    return next((end for end in furthest if end is not None), None)


def _furthest(ends: Sequence[int], start: int, fits: Callable[[int], bool]) -> int | None:
    """The last of the ascending ``ends`` after ``start`` that fits, None if the first does not.

    Steps are doubled, then halved: the cost depends on the piece, not on the text.
    """
    first = bisect.bisect_right(ends, start)
    count = len(ends) - first
    low, step = -1, 1
    while step <= count and fits(ends[first + step - 1]):
        low, step = step - 1, 2 * step
    high = min(step - 1, count)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(ends[first + middle]) else (low, middle)
    return None if low < 0 else ends[first + low]
