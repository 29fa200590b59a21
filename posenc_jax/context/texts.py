"""Texts to read: files of the user's."""

import codecs
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.files.atomic import read_regular

CHARACTERS = 32
"""The most characters of a token, averaged over a text."""


class Text(NamedTuple):
    """A text as tokens that begin with bos; its name is that of its file."""

    name: str
    tokens: np.ndarray


def of_files(paths: Sequence[Path], tokenizer: Tokenizer, length: int) -> list[Text]:
    """The first ``length`` tokens of each file; DataError for one that is no text, or is shorter."""
    found, most = [], 4 * CHARACTERS * length  # UTF-8 has at most four bytes a character
    for path in paths:
        try:
            data = read_regular(path, first=most)
            content = codecs.getincrementaldecoder("utf-8")().decode(data, final=len(data) < most)
        except UnicodeDecodeError as error:
            raise DataError(f"{path} is no UTF-8 text (byte {error.start}): convert it") from None
        tokens = [tokenizer.bos, *tokenizer.encode(content[: CHARACTERS * length])]
        found.append(Text(path.name, np.array(tokens[:length], np.int32)))
        if len(tokens) < length:
            raise DataError(
                f"{path} has {len(tokens):,} tokens, and the longest length is {length:,}: give a longer text, or "
                "shorter lengths"
            )
    return found
