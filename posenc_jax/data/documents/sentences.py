"""Ends of sentences."""

from __future__ import annotations

import itertools
import re

END = re.compile(r"[.!?…][\"'”’»)\]]*\s+|[。！？][」』）]*|\n+")
"""At ``.!?…。！？`` or at the end of a line."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, as `END` says; white space between them is dropped.

    >>> sentences("One two. Three?  Four")
    ['One two.', 'Three?', 'Four']
    """
    ends = [0, *(match.end() for match in END.finditer(text)), len(text)]
    return [sentence for start, end in itertools.pairwise(ends) if (sentence := text[start:end].strip())]
