"""Positions that no training sequence had, and what a model makes of them."""

import numpy as np

from posenc_jax.encodings import sinusoidal
from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table


def unseen(d_model: int, length: int, margin: float = 0.1) -> tuple[int, int]:
    """Numbers of dimensions and of positions length .. 2 length - 1 with a value beyond earlier ones by the margin."""
    vectors = sinusoidal(np.arange(2 * length), d_model, dtype=np.float64)
    seen, new = np.split(vectors, 2)
    beyond = (new > seen.max(axis=0) + margin) | (new < seen.min(axis=0) - margin)
    return int(beyond.any(axis=0).sum()), int(beyond.any(axis=1).sum())


def _body() -> str:
    new = [(d, length, *unseen(d, length)) for d in (8, 64, 512) for length in (50, 512)]
    return f"""## The vectors
The formula has a value at every position, but a model has been shown only some of them. Suppose that it sees the
positions below a length in training and reads twice as many afterwards. The table counts the dimensions with values
more than 0.1 beyond any seen, and the new positions at which some dimension has such a value.

{table(["d", "trained length", "dimensions", "positions"], new)}

## A trained model
Small decoders learn to copy a token that is repeated 2 to 8 times, in the end without a mistake, and are then given 9
to 16 repetitions. The share of sequences that are right to the last token, over 4 seeds:

{quoted.tables()["longer"]}

The table comes from [an experiment](file:experiments/length_generalisation/README.md); `posenc demo` reruns four of
its rows. With sinusoids, none of the longer sequences is right; without any encoding, nearly all are."""


def _answer() -> str:
    mean = quoted.mean

    return f"""\
Hardly ever. Training on lengths 2 to 8 covers every position below 8: there is no gap in between, and a longer text
requires extrapolation. When a gap is made, sinusoids do poorly in it: small decoders trained on positions below 20 and
from 41 to 63 name the symbol five places back with accuracy {mean("gap", "sinusoidal", 1)} there,
{mean("gap", "sinusoidal", 2)} at 22 to 37, and {mean("gap", "sinusoidal", 4)} beyond all of them (8 seeds; guessing
scores 0.125). RoPE, which reads only distances, has {mean("gap", "rope", 2)} everywhere.
There are also gaps when training draws positions at random from a larger range,
`randomized(max_position=64)|sinusoidal`: a model learns to read the order from whatever positions there are, and longer
texts contain none that it never saw. [The experiment](file:experiments/length_generalisation/README.md) has both, the
second on the task `even_pairs`."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

seen, new = np.split(sinusoidal(np.arange(1024), 512), 2)  # trained on 512 positions, read at the next 512
beyond = (new > seen.max(axis=0) + 0.1) | (new < seen.min(axis=0) - 0.1)
print(beyond.any(axis=0).sum(), "of 512 dimensions have values that training never had")
"""
LESSON = Lesson(
    name="longer",
    title="Sequences longer than those in training",
    where="The chapter, 4.3.4 and 4.3.8; Herath's article; the article on PyTorch",
    claim="As the formula is defined at every position, a model can read sequences longer than those in its training.",
    verdict="refuted",
    because=f"The vectors exist, but a small model with them gets {quoted.mean('longer', 'sinusoidal', 2)} of "
    f"longer sequences right, and one without positions {quoted.mean('longer', 'nope', 2)}.",
    code=CODE,
    commands="posenc demo",
    body=_body,
    question="A model is said to interpolate at positions that it has not seen. Does it ever have to?",
    answer=_answer,
    seconds=2,
)
