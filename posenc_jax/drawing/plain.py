"""Text of others as a terminal may be sent it, and numbers."""

import re
import unicodedata
from typing import Any

_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    r"""The text with characters that command a terminal, reorder a line or are none written as escapes: ``\x1b[2J``.

    Line breaks and tabs stay.
    """
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def display_width(text: str) -> int:
    """The width of a text on a terminal, in cells: two of many signs of East Asia, none of an accent that stands above.

    >>> display_width("日本"), display_width("e\u0301"), display_width("rope")
    (4, 1, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def short(text: str) -> str:
    """A text in a message: of one beyond 200 characters the beginning, the end and how long it is."""
    return text if len(text) <= 200 else f"{text[:60]} ... {text[-20:]} ({len(text):,} characters)"


def number(value: Any, digits: int = 4) -> str:
    """The value with so many decimals, never as minus zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"
