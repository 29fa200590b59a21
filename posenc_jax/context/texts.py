"""Texts to read: files of the user's, or long documents of a corpus."""

import codecs
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.files.atomic import read_regular

CORPUS = "python_docs"
"""The documentation of Python: long, public (PSF-2.0), and prepared from a package of Debian."""

_CHARACTERS = 32
"""The most characters of a token, averaged over a text."""


class Text(NamedTuple):
    """A text as tokens that begin with bos; its name is its file or its number in the corpus."""

    name: str
    tokens: np.ndarray


def of_files(paths: Sequence[Path], tokenizer: Tokenizer, length: int) -> list[Text]:
    """The first ``length`` tokens of each file; DataError for one that is no text, or is shorter."""
    found, most = [], 4 * _CHARACTERS * length  # UTF-8 has at most four bytes a character
    for path in paths:
        try:
            data = read_regular(path, first=most)
            content = codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) < most)
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is no UTF-8 text (byte {error.start}): convert it") from None
        found.append(text := _text(path.name, content, tokenizer, length))
        if len(text.tokens) < length:
            raise DataError(
                f"{path} has {len(text.tokens):,} tokens, and the longest length is {length:,}: give a longer text, or "
                "shorter lengths"
            )
    return found


def of_corpus(tokenizer: Tokenizer, length: int, most: int) -> list[Text]:
    """The first documents of the corpus that have ``length`` tokens, up to ``most``; of the test split first."""
    found: list[Text] = []
    longest = 0
    for number, content in enumerate(_documents()):
        if len(found) == most:
            break
        text = _text(str(number), content, tokenizer, length)
        longest = max(longest, len(text.tokens))
        if len(text.tokens) == length:
            found.append(text)
    if not found:
        raise DataError(
            f"no document of {CORPUS} has {length:,} tokens (the longest {longest:,}): give texts of yours, or shorter "
            "lengths"
        )
    return found


def _documents() -> Iterable[str]:
    for split in ("test", "validation", "train"):
        yield from (row["text"] for row in load_split(CORPUS, split))


def _text(name: str, content: str, tokenizer: Tokenizer, length: int) -> Text:
    tokens = [tokenizer.bos, *tokenizer.encode(content[: _CHARACTERS * length])]
    return Text(name, np.array(tokens[:length], np.int32))
