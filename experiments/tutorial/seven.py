"""The seven tokens of "Dolphins leap gracefully over waves .", counted from 1.

python -m experiments.tutorial.seven
"""

import numpy as np

from experiments.tutorial.dolphins import D_MODEL, SENTENCE
from experiments.tutorial.markdown import number, table
from posenc_jax.encodings import sinusoidal

END = "<eos>"
TOKENS = (*SENTENCE.split(), END)
WORD = "waves"
DIMENSIONS = (0, 1, 2, 3, 128, 129, 256, 257, 510, 511)


def place(word: str, first: int) -> int:
    """The position of a word, when the first token has this one."""
    return TOKENS.index(word) + first


def vectors(first: int) -> np.ndarray:
    """``[7, 512]`` in float64."""
    return sinusoidal(np.arange(len(TOKENS)) + first, D_MODEL, dtype=np.float64)


def page() -> str:
    """The page."""
    zero, one = vectors(0), vectors(1)
    words = TOKENS.index(WORD)
    entries = [
        (
            i,
            ("sin", "cos")[i % 2],
            number(zero[words, i]),
            number(one[words, i]),
            number(one[words, i] - zero[words, i]),
        )
        for i in DIMENSIONS
    ]
    return f"""# Seven tokens, counted from 1

Some texts say that "{SENTENCE}" has {len(TOKENS)} tokens, and that
"{WORD}" stands at position {place(WORD, 1)}. Split at blanks it has {len(SENTENCE.split())}, and counted from 0, as in
[dolphins](dolphins.md), "{WORD}" is at {place(WORD, 0)} and position 5 is the full stop. Both can be: with the mark
that ends a sentence, which our translation task adds too, there are seven, and counted from 1 "{WORD}" is the fifth.

{table(["counted from", *TOKENS], [["0", *range(len(TOKENS))], ["1", *range(1, len(TOKENS) + 1)]])}

## What the beginning changes
Position 5 has the same vector in both, but another owner. The vector that "{WORD}" gets, of {D_MODEL} dimensions:

{table(["dimension", "", "counted from 0: p = 4", "counted from 1: p = 5", "difference"], entries)}

Counted from 1 no token has the vector 0, 1, 0, 1, ...: the first one has sin(1) = {number(one[0, 0])} and cos(1) =
{number(one[0, 1])}.

## What it does not change
The product of two positions depends on how far apart they are. All {len(TOKENS)} x {len(TOKENS)} products of the
sentence are the same either way. A model is trained with one of the two and has to be used
with it; which one is of no matter to these
vectors. This library, like the code of the paper's authors, begins at 0."""


if __name__ == "__main__":
    print(page())
