"""The words that a run was trained on, kept beside its tokenizer, and those of a text that are not among them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from posenc_jax.data.text.base import TextTask
from posenc_jax.data.text.loading import TOKENIZER_EXAMPLES, open_split

FILE = "words.json"
_WORD = re.compile(r"[^\W\d_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+")  # of scripts with spaces between words
_SHOWN = 5


def words_of(texts: Iterable[str]) -> list[str]:
    """The words of the texts in their order, whatever their case.

    >>> words_of(["The cat sat on 2 mats.", "猫が the"])
    ['the', 'cat', 'sat', 'on', 'mats', 'the']
    """
    return [word for text in texts for word in _WORD.findall(text.casefold())]


def trained_on(task: TextTask) -> dict[str, Any]:
    """The words of what a model of the task reads in training, for `FILE`, and how many examples they are of: of many
    the first.
    """
    rows = list(itertools.islice(open_split(task, "train"), TOKENIZER_EXAMPLES))
    found = {word for row in rows for word in words_of(row[column] for column in task.input_columns)}
    return {"examples": len(rows), "words": sorted(found)}


def foreign(texts: Iterable[str], kept: Mapping[str, Any]) -> str | None:
    """A sentence about the words of the texts that are not among those ``kept`` by `trained_on`; None where all are."""
    known, words = set(kept["words"]), words_of(texts)
    unknown = [word for word in words if word not in known]
    if not unknown:
        return None
    shown = list(dict.fromkeys(unknown))
    named = ", ".join(shown[:_SHOWN]) + f", and {len(shown) - _SHOWN} more" * (len(shown) > _SHOWN)
    return (
        f"{len(unknown)} of {len(words)} words occur in none of the {kept['examples']:,} training examples that were "
        f"looked through ({named}): the model cannot know what they mean, and what it makes of them is a guess"
    )
