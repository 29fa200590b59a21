"""Suggestions of a message in place of a name that it does not know; needs no JAX."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """``did you mean 'x'?`` of the nearest known word, or ``otherwise`` where none is near."""
    words = list(known)
    near = [w for w in words if w.lower() == word.lower()] or difflib.get_close_matches(word, words, n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise
