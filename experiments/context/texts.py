"""Long pages of the Python documentation, as files that `posenc context` reads.

    python -m experiments.corpora.make python-docs
    python -m experiments.context.texts RUN 512 16 runs/texts

writes the first 16 documents of own/python-docs that have 512 tokens of the run's tokenizer, those of the test split
first: none of it was trained on.
"""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from posenc_jax.context.texts import CHARACTERS
from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.runs.inference import load_run


def long(tokenizer: Tokenizer, length: int) -> Iterator[tuple[str, np.ndarray]]:
    """Documents with their first ``length`` tokens, of which the first is bos."""
    for split in ("test", "validation", "train"):
        for row in load_split("own/python-docs", split):
            tokens = [tokenizer.bos, *tokenizer.encode(row["text"][: CHARACTERS * length])]
            if len(tokens) >= length:
                yield row["text"], np.array(tokens[:length], np.int32)


def of_corpus(tokenizer: Tokenizer, length: int, most: int) -> list[np.ndarray]:
    """The tokens of the first ``most`` documents that have so many."""
    return [tokens for _, tokens in itertools.islice(long(tokenizer, length), most)]


def main(run: str, length: str, count: str, folder: str) -> None:
    """Writes the documents, in their order."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    documents = itertools.islice(long(load_run(Path(run)).tokenizer, int(length)), int(count))
    for number, (text, _) in enumerate(documents):
        (Path(folder) / f"{number:03}.txt").write_bytes(text.encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
