"""The formula, and its table for positions 0 to 2 at d_model 4, by hand."""

import math

import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

D_MODEL = 4
SIZES = ((3, 4), (20, 32), (50, 128), (128, 8), (5000, 512))
ROUNDING = 1e-11


def by_hand(position: int, d_model: int) -> list[float]:
    """The vector of a position, entry by entry."""
    found = []
    for i in range(d_model // 2):
        angle = position / 10000 ** (2 * i / d_model)
        found += [math.sin(angle), math.cos(angle)]
    return found


def apart(d_model: int, length: int) -> float:
    """The largest difference between the library's vectors and those by hand."""
    expected = np.array([by_hand(p, d_model) for p in range(length)])
    return float(np.abs(sinusoidal(np.arange(length), d_model, dtype=np.float64) - expected).max())


def _body() -> str:
    rows = [[p, *(number(x) for x in by_hand(p, D_MODEL))] for p in range(3)]
    worst = max(apart(d, length) for length, d in SIZES)
    assert worst < ROUNDING, worst
    return f"""## In words
pos is the position of a token, counted from 0. i counts *pairs* of dimensions, from 0 to d_model/2 - 1: pair i
consists of dimension 2i, a sine, and dimension 2i + 1, the cosine of the same angle. The angle is the position times
the frequency of the pair,

    w_i = 1 / 10000^(2i / d_model)

so the exponent begins at 0 and grows by 2/d_model from pair to pair. (If i is taken to count dimensions instead of
pairs, [a loop goes wrong](lesson:doubled).)

## The table at d_model {D_MODEL}
There are two pairs, with the frequencies 10000^0 = 1 and 10000^(-2/4) = 0.01:

{table(["position", "sin(p)", "cos(p)", "sin(0.01 p)", "cos(0.01 p)"], rows)}

The vector of position 0 is 0, 1, 0, 1. From one position to the next, the first pair turns by a radian, the second by
a hundredth of a radian: over three words it hardly moves. Every value lies between -1 and 1.

## The library and the formula
At {", ".join(f"{length} x {d}" for length, d in SIZES)} (positions x dimensions, the sizes used in the texts),
`sinusoidal` in float64 and the formula, computed entry by entry in Python, differ by less than {ROUNDING:.0e}. The
difference comes from rounding the formula's angles; the library computes with exact phases, so it is also accurate at
[far positions](file:scripts/docs/guides/composing-encodings.md)."""


def _answer() -> str:
    return f"""{", ".join(number(x) for x in by_hand(3, D_MODEL))}: sin(3), cos(3), sin(0.03), cos(0.03). In the first
pair, the angle is 3 radians, nearly half a turn, so the cosine is near -1; in the second, it is 0.03 radians, less than
two degrees."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

print(sinusoidal(np.arange(3), 4, dtype=np.float64).round(4))
"""
LESSON = Lesson(
    name="formula",
    title="The formula, and its table at d_model 4",
    where="The chapter, 4.3.3 and 4.3.5; the course",
    claim="PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model)).",
    verdict="confirmed",
    because="It is what the library computes; at d_model 4, the first pair turns by a radian per position, the second "
    "by a hundredth of a radian.",
    code=CODE,
    pictures=("exp-8", "waves-128x8"),
    body=_body,
    question="Write down the vector of position 3 at d_model 4, before you compute it.",
    answer=_answer,
    seconds=4,
    formula=r"\mathrm{PE}(\mathrm{pos}, 2i) = \sin(\mathrm{pos}\,\omega_i), \qquad "
    r"\mathrm{PE}(\mathrm{pos}, 2i+1) = \cos(\mathrm{pos}\,\omega_i), \qquad "
    r"\omega_i = \frac{1}{10000^{2i/d_{\mathrm{model}}}}",
)
