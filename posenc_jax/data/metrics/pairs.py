"""Checks of the arguments of text scores."""

from __future__ import annotations

from collections.abc import Sequence


def check_pairs(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuses what is not one reference for every hypothesis, of which there is at least one.

    Raises:
      ValueError: lists of different lengths, empty lists, a single text in place of a list.
    """
    for name, texts in (("hypotheses", hypotheses), ("references", references)):
        if isinstance(texts, str):
            raise ValueError(f"{name} = {texts!r} is one text, whose characters would be scored: pass a list, [text]")
    if len(hypotheses) != len(references):
        raise ValueError(
            f"{len(hypotheses)} hypotheses and {len(references)} references: every hypothesis needs exactly one "
            "reference, in the same order"
        )
    if not hypotheses:
        raise ValueError("no hypotheses: a score is a mean or a ratio over texts and needs at least one")
