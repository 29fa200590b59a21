"""Why position 5 looks like position 68 at d_model 8, and what becomes of it in wider models."""

import math

import numpy as np

from posenc_jax.analysis.kernels import kernel
from posenc_jax.drawing.plain import number
from posenc_jax.encodings import vaswani_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

OFFSET = 63


def _body() -> str:
    turns = [
        (f"{2 * k}, {2 * k + 1}", number(OFFSET * w / math.tau, 4), number(math.cos(OFFSET * w), 4))
        for k, w in enumerate(vaswani_frequencies(8))
    ]
    mean = float(kernel(vaswani_frequencies(8), np.array(OFFSET)))
    widths = [
        (d, *(number(k) for k in kernel(vaswani_frequencies(d), np.array([1, 6, OFFSET]))))
        for d in (8, 16, 32, 64, 128, 512)
    ]
    return f"""## Why 63
From 5 to 68, each pair of dimensions turns by {OFFSET} times its frequency. This angle in turns, and its cosine:

{table(["dimensions", "turns", "cosine"], turns)}

The first pair makes a little over ten turns, the second hardly more than one, and the last two have only begun: all
four are back near their start, or have hardly left it. The mean of the cosines is the cosine of the two vectors,
{number(mean)}. A step of 6 is nearly one turn of the first pair and moves the others little.

## In wider models

{table(["d", "1 away", "6 away", f"{OFFSET} away"], widths)}

With more pairs in between, no step of this size brings all of them back at once.

## Does it matter?
In trained models of width 8, yes: their attention logits have a bump at offset 63 too, and their answers suffer. From
width 64 on, no effect was seen in answers. [The guide](file:scripts/docs/guides/positions-that-look-alike.md) has
tables, and encodings without such aliases."""


def _answer() -> str:
    values = kernel(vaswani_frequencies(8), np.arange(1, 1000))
    best = 1 + int(values[100:].argmax()) + 100
    return f"""\
{best}, with cosine {number(values[best - 1], 4)}: {best} radians are {number(best / math.tau, 3)} turns of the first
pair and {number(best / 10 / math.tau, 3)} of the second. `posenc aliases sinusoidal --length 1000` shows it too."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

five, six, far = sinusoidal(np.array([5, 6, 68]), 8, dtype=np.float64)
print(f"5 and 6: {five @ six / 4:.4f}, 5 and 68: {five @ far / 4:.4f}")
"""
LESSON = Lesson(
    name="aliases",
    title="Does position 5 look like position 68?",
    where="The article on PyTorch, on bias to positions",
    claim="At d_model 8, position 68 is closer to 5 than 4 and 6 are, although nothing in a sentence calls for that.",
    verdict="confirmed",
    because="The cosine of 5 and 68 is 0.948, that of 5 and 6 only 0.884. In wider models this disappears: 0.488 "
    "against 0.973 at d_model 512.",
    code=CODE,
    commands="posenc aliases sinusoidal\nposenc explore sinusoidal --d-model 8",
    pictures=("kernel-128x8",),
    body=_body,
    question="Which step between 100 and 1,000 brings the vectors of d_model 8 closest together?",
    answer=_answer,
    seconds=3,
    formula=r"\frac{\mathrm{PE}(p)^\top \mathrm{PE}(p + n)}{d/2} = \frac{2}{d} \sum_{i=0}^{d/2-1} \cos(n\,\omega_i)",
)
