"""Positions 0 and 5 of "Dolphins leap gracefully over waves.", step by step, at d_model 512."""

from collections.abc import Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal, vaswani_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

SENTENCE = "Dolphins leap gracefully over waves."
TOKENS = ("Dolphins", "leap", "grace", "##fully", "over", "waves", ".")  # "gracefully" in two pieces
D_MODEL = 512
DIMENSIONS = (0, 1, 2, 3, 4, 5, 64, 65, 128, 129, 256, 257, 384, 385, 510, 511)
THRESHOLDS = (1.0, 0.1, 0.01, 0.001, 1e-5)
COMPARED = (0, 1, 2, 3, 128, 129, 256, 257, 510, 511)


def rows(positions: Iterable[int], dtype: Any = np.float64) -> np.ndarray:
    """``[P, 512]``: the vectors of positions; computed in float64, then rounded to the dtype."""
    return np.asarray(sinusoidal(np.array(list(positions)), D_MODEL, dtype=np.float64)).astype(dtype)


def moved(first: int, second: int, dtype: Any) -> tuple[int, int]:
    """The numbers of sines and of cosines that differ between two positions."""
    differ = np.not_equal(*rows([first, second], dtype))
    return int(differ[0::2].sum()), int(differ[1::2].sum())


def moved_by_more(first: int, second: int, threshold: float) -> int:
    """The number of dimensions that differ by more than the threshold."""
    return int((np.abs(np.subtract(*rows([first, second]))) > threshold).sum())


def _body() -> str:
    words = TOKENS
    zero, five = rows([0, 5])
    frequencies = vaswani_frequencies(D_MODEL)
    values = [
        (
            i,
            ("sin", "cos")[i % 2],
            number(frequencies[i // 2], 7),
            number(5 * frequencies[i // 2], 7),
            number(zero[i], 7),
            number(five[i], 7),
            f"{abs(five[i] - zero[i]):.1e}",
        )
        for i in DIMENSIONS
    ]
    precisions = []
    for name, dtype in (("float64", np.float64), ("float32", np.float32), ("bfloat16", jnp.bfloat16)):
        counts = [moved(0, position, dtype) for position in (1, 5)]
        precisions.append((name, *(f"{sines} + {cosines} = {sines + cosines}" for sines, cosines in counts)))
    thresholds = [(f"{threshold:g}", moved_by_more(0, 5, threshold)) for threshold in THRESHOLDS]
    last = frequencies[-1]
    sin_last, cos_last, short = np.sin(5 * last), np.cos(5 * last), 2 * np.sin(2.5 * last) ** 2
    norm, apart, cosine = np.linalg.norm(five), np.linalg.norm(five - zero), five @ zero / (D_MODEL / 2)
    squares = (five - zero) ** 2
    first, half = (100 * squares[:n].sum() / squares.sum() for n in (64, 256))
    return f"""## 1. Positions
Each token has a position, counted from 0:

{table(["position", *range(len(words))], [["token", *words]])}

So position 0 is "{words[0]}" and position 5 is "{words[5]}". Tokens are counted, not words: "gracefully" is two of
them, and with a tokenizer that keeps it whole, "waves" would have position 4. The vector of a position does
not depend on its token.

## 2. The formula
With d_model = {D_MODEL} there are {D_MODEL // 2} pairs of dimensions, k = 0, 1, ..., {D_MODEL // 2 - 1}. Pair k has
one frequency, w = 10000^(-2k/{D_MODEL}), and two dimensions: at position p, dimension 2k is sin(p w), and dimension
2k + 1 is cos(p w).

Three pairs by hand, for p = 5:

- k = 0: w = 10000^0 = 1. Dimension 0 is sin(5) = {number(np.sin(5.0), 7)}, dimension 1 is cos(5) =
  {number(np.cos(5.0), 7)}.
- k = 128: w = 10000^(-256/512) = 0.01. Dimension 256 is sin(0.05) = {number(np.sin(0.05), 7)}, dimension 257 is
  cos(0.05) = {number(np.cos(0.05), 7)}.
- k = 255: w = 10000^(-510/512) = {last:.7f}. Dimension 510 is sin({5 * last:.7f}) = {number(sin_last, 7)}, dimension
  511 is cos({5 * last:.7f}) = {number(cos_last, 7)}: it falls short of 1 by {short:.2e}.

## 3. Position 0
All angles are 0, so every sine is 0 and every cosine is 1: 0, 1, 0, 1, ..., to the end. It is not a vector of zeros:
its norm is sqrt({D_MODEL}/2) = {number(np.linalg.norm(zero))}, and it is added to the first token too.

## 4. Position 5

{table(["dimension", "", "frequency", "angle at 5", "position 0", "position 5", "difference"], values)}

## 5. What changed between 0 and 5
Every dimension changed: an angle 5w is an algebraic number, so it is not a multiple of pi. But most changed very
little.

{table(["dimensions that differ by more than", f"of {D_MODEL}"], thresholds)}

How many differ at all depends on the precision in which the vectors are stored (sines + cosines):

{table(["", "positions 0 and 1", "positions 0 and 5"], precisions)}

Slow sines still move where slow cosines are stuck at 1: near angle 0, a sine changes by the angle, a cosine by half
its square.

## 6. How far apart they are
Both norms are {number(norm)}; the distance of the vectors is {number(apart)}, their cosine {number(cosine)}. The first
64 dimensions account for {number(first, 1)} % of the squared distance, the first half for {number(half, 2)} %, and the
second half for {number(100 - half, 2)} %."""


def _answer() -> str:
    zero, one = rows(range(len(TOKENS))), rows(range(1, len(TOKENS) + 1))
    word = TOKENS.index("waves")
    entries = [(i, ("sin", "cos")[i % 2], number(zero[word, i]), number(one[word, i])) for i in COMPARED]
    products = float(np.abs(zero @ zero.T - one @ one.T).max())
    assert products < 1e-9, products
    return f"""Every token gets the vector of the next position. "waves" gets that of 6:

{table(["dimension", "", "from 0: position 5", "from 1: position 6"], entries)}

Then no token has the vector 0, 1, 0, 1, ...: the first one begins with sin(1) = {number(one[0, 0])} and cos(1) =
{number(one[0, 1])}. What does not change is the relation between tokens: the product of two vectors depends on how far
apart they are, and all {len(TOKENS)} x {len(TOKENS)} products are the same either way. A model has to be used with
the count that it was trained with; the paper's authors, and this library, count from 0."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

dolphins, waves = sinusoidal(np.array([0, 5]), 512, dtype=np.float64)
print(dolphins[:6].round(4), "...", dolphins[-2:].round(4))
print(waves[:6].round(4), "...", waves[-2:].round(7))
"""
LESSON = Lesson(
    name="dolphins",
    title=f'"{SENTENCE}"',
    where="Herath's article: its worked example at d_model 512",
    claim='"Dolphins" gets the vector of position 0, which is 0, 1, 0, 1, ..., and "waves" that of position 5.',
    verdict="confirmed",
    because='Position 5 belongs to "waves" because "gracefully" is two tokens; its vector differs from that of 0 in '
    "every dimension, but by less than 0.01 in nearly half of them.",
    code=CODE,
    pictures=("lines-7x512",),
    body=_body,
    question="Some programs count tokens from 1. What changes in the vectors of this sentence, and what does not?",
    answer=_answer,
    seconds=4,
)
