"""The seven tokens of "Dolphins leap gracefully over waves.", counted from 0 and from 1.

python -m experiments.tutorial.seven
"""

import numpy as np

from experiments.tutorial.dolphins import D_MODEL, SENTENCE, TOKENS
from experiments.tutorial.markdown import number, table
from posenc_jax.encodings import sinusoidal

WORD = "waves"
DIMENSIONS = (0, 1, 2, 3, 128, 129, 256, 257, 510, 511)


def position(token: str, first: int) -> int:
    """The position of a token, when the first one has ``first``."""
    return TOKENS.index(token) + first


def vectors(first: int) -> np.ndarray:
    """``[7, 512]`` in float64."""
    return sinusoidal(np.arange(len(TOKENS)) + first, D_MODEL, dtype=np.float64)


def page() -> str:
    """The page."""
    zero, one = vectors(0), vectors(1)
    word = TOKENS.index(WORD)
    entries = [
        (i, ("sin", "cos")[i % 2], number(zero[word, i]), number(one[word, i]), number(one[word, i] - zero[word, i]))
        for i in DIMENSIONS
    ]
    return f"""# Seven tokens, counted from 0 or from 1

[Dolphins](dolphins.md) counts the {len(TOKENS)} tokens of "{SENTENCE}" from 0, so that "{WORD}" has position
{position(WORD, 0)}. A program that counts from 1 gives it {position(WORD, 1)}:

{table(["counted from", *TOKENS], [["0", *range(len(TOKENS))], ["1", *range(1, len(TOKENS) + 1)]])}

## What the beginning changes
The vector that "{WORD}" gets, of {D_MODEL} dimensions:

{table(["dimension", "", "counted from 0: p = 5", "counted from 1: p = 6", "difference"], entries)}

Counted from 1 no token has the vector 0, 1, 0, 1, ...: the first one has sin(1) = {number(one[0, 0])} and cos(1) =
{number(one[0, 1])}.

## What it does not change
The product of two positions depends on how far apart they are. All {len(TOKENS)} x {len(TOKENS)} products of the
sentence are the same either way. A model is trained with one of the two and has to be used
with it; which one is of no matter to these
vectors. This library, like the code of the paper's authors, begins at 0."""


if __name__ == "__main__":
    print(page())
