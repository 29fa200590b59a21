"""Text of others as a terminal may be sent it, and numbers."""

import re
import unicodedata
from typing import Any

# Joiners (200c, 200d), which form letters of several scripts, and what chooses the form of a sign are none of them.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)


def plain(text: str) -> str:
    r"""The text with characters that command a terminal, reorder a line, have no width or are none written as escapes:
    ``\x1b[2J``.

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


def short(text: str, most: int = 200) -> str:
    """A text in a message: of one beyond ``most`` characters the beginning, the end and how long it is."""
    if len(text) <= most:
        return text
    return f"{text[: most * 3 // 10]} ... {text[-most // 10 :]} ({len(text):,} characters)"


def number(value: Any, digits: int = 4) -> str:
    """The value with so many decimals, never as minus zero."""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"
