"""The words that a run was trained on, kept beside its tokenizer; where they are few, as for a small grammar, also the
pairs of neighbouring words. `foreign` names the words and pairs of a text that are not among them.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from posenc_jax.data.text.base import TextTask
from posenc_jax.data.text.loading import TOKENIZER_EXAMPLES, open_split

FILE = "words.json"
_WORD = re.compile(r"[^\W\d_\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+")  # of scripts with spaces between words
_UNIT = re.compile(r"\w+|[^\w\s]")
_SHOWN = 5
_MOST_PAIRS = 20_000
_NEW = 0.01  # of the last tenth of the texts this share at most may have a pair that is new


def words_of(texts: Iterable[str]) -> list[str]:
    """The words of the texts in their order, whatever their case.

    >>> words_of(["The cat sat on 2 mats.", "猫が the"])
    ['the', 'cat', 'sat', 'on', 'mats', 'the']
    """
    return [word for text in texts for word in _WORD.findall(text.casefold())]


def pairs_of(text: str) -> list[str]:
    """Words and marks of a text with what follows each, in their case; the beginning and the end are empty.

    >>> pairs_of("The cat sat.")
    [' The', 'The cat', 'cat sat', 'sat .', '. ']
    """
    return [f"{one} {other}" for one, other in itertools.pairwise(["", *_UNIT.findall(text), ""])]


def trained_on(task: TextTask) -> dict[str, Any]:
    """The words that a model of the task reads in training (of many examples the first), the number of these examples,
    and the pairs, where they are few; for `FILE`.
    """
    rows = list(itertools.islice(open_split(task, "train"), TOKENIZER_EXAMPLES))
    texts = [row[column] for row in rows for column in task.input_columns]
    kept: dict[str, Any] = {"examples": len(rows), "words": sorted(set(words_of(texts)))}
    if pairs := few_pairs(texts):
        kept["pairs"] = pairs
    return kept


def few_pairs(texts: Sequence[str]) -> list[str] | None:
    """The pairs of the texts, if a new pair shows that a text is of another kind; None if there are too many, if texts
    of the same kind often have new ones, or if there are fewer than 1,000 texts.
    """
    known: set[str] = set()
    late, new = len(texts) // 10, 0
    for number, text in enumerate(texts):
        found = set(pairs_of(text))
        new += number >= len(texts) - late and not found <= known
        known |= found
        if len(known) > _MOST_PAIRS:
            return None
    return sorted(known) if late >= 100 and new <= _NEW * late else None


def foreign(texts: Mapping[str, str], kept: Mapping[str, Any]) -> list[str]:
    """Sentences about the words and pairs of the texts that are not among those ``kept`` by `trained_on`. texts: by the
    names that messages use.
    """
    known, count = set(kept["words"]), len(words_of(texts.values()))
    unknown = [(name, word) for name, text in texts.items() for word in words_of([text]) if word not in known]
    looked, said = f"the {kept['examples']:,} training examples that were looked through", []
    if unknown:
        names, words = zip(*unknown)
        where = f"; in {_some(names)}" if len(texts) > 1 else ""
        said.append(
            f"{len(unknown)} of {count} words occur in none of {looked} ({_some(words)}{where}): the model "
            "cannot know what they mean, and what it makes of them is a guess"
        )
    if "pairs" in kept:
        pairs = set(kept["pairs"])
        new = [(name, pair) for name, text in texts.items() for pair in pairs_of(text) if pair not in pairs]
        if told := [(name, _shown(pair)) for name, pair in new if known.issuperset(words_of([pair]))]:
            names, shown = zip(*told)
            said.append(
                f"{_some(names)}: none of {looked} has {_some(shown)}: the model has met no such sentence, and what it "
                "makes of one is a guess"
            )
    return said


def _shown(pair: str) -> str:
    one, other = pair.split(" ")
    return f'"{other}" at its beginning' if not one else f'"{one}" at its end' if not other else f'"{pair}"'


def _some(found: Iterable[str]) -> str:
    """The first of what was found, each once, and how many more."""
    shown = list(dict.fromkeys(found))
    return ", ".join(shown[:_SHOWN]) + f", and {len(shown) - _SHOWN} more" * (len(shown) > _SHOWN)
