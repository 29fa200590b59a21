"""Effect of a doubled exponent on the encoding: 10000^(2i/d) with i = 0, 2, 4, ... already even."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal, vaswani_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

LENGTH = 512
DIMS = (8, 64, 512)


def doubled_frequencies(d_model: int) -> np.ndarray:
    """The variant: i counts dimensions in steps of two, and is doubled once more."""
    i = np.arange(0, d_model, 2)
    return 10000.0 ** (-2 * i / d_model)


def doubled(positions: np.ndarray, d_model: int) -> np.ndarray:
    """``[P, d_model]`` with the doubled exponents."""
    angles = positions[:, None] * doubled_frequencies(d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), d_model)


def doubled_and_shifted(positions: np.ndarray, d_model: int) -> np.ndarray:
    """``[P, d_model]``: the sine of i has exponent 2i/d, the cosine beside it 2(i + 1)/d."""
    i = np.arange(0, d_model, 2)
    sines, cosines = (np.outer(positions, 10000.0 ** (-2 * j / d_model)) for j in (i, i + 1))
    return np.stack([np.sin(sines), np.cos(cosines)], axis=-1).reshape(len(positions), d_model)


def paper(positions: np.ndarray, d_model: int) -> np.ndarray:
    """``[P, d_model]`` as published."""
    return np.asarray(sinusoidal(positions, d_model, dtype=np.float64))


def moving(vectors: np.ndarray, span: float) -> int:
    """The number of dimensions that have values further apart than the span."""
    return int((np.ptp(vectors, axis=0) > span).sum())


def constant(vectors: np.ndarray, dtype: Any) -> int:
    """The number of dimensions that have one value only in this dtype."""
    rounded = vectors.astype(dtype)
    return int((rounded == rounded[:1]).all(axis=0).sum())


def nearest(frequencies: np.ndarray, position: int, length: int = LENGTH) -> list[tuple[int, float]]:
    """All other positions below the length with their cosines to this one, nearest first."""
    others = np.delete(np.arange(length), position)
    cosines = kernel(frequencies, np.abs(others - position))
    return [(int(others[i]), float(cosines[i])) for i in np.argsort(-cosines, kind="stable")]


def shift_residual(vectors: np.ndarray, offset: int) -> float:
    """The root mean square of what the best linear map from rows p to rows p + offset leaves, over that of the rows."""
    before, after = vectors[:-offset], vectors[offset:]
    found = np.linalg.lstsq(before, after, rcond=None)[0]
    return float(np.sqrt(((before @ found - after) ** 2).mean() / (after**2).mean()))


def wavelength_rows(d_model: int = LENGTH) -> list[tuple]:
    """``(pair, wavelength as published, with the doubled exponent)``."""
    waves = [math.tau / w for w in (vaswani_frequencies(d_model), doubled_frequencies(d_model))]
    pairs = (0, 1, d_model // 8, d_model // 4 - 1, d_model // 4, 3 * d_model // 8, d_model // 2 - 1)
    return [(k, *(wave[k] for wave in waves)) for k in pairs]


def moving_rows() -> list[tuple]:
    """``(d_model, formula, moving by 1, 0.1, 0.01, constant in bfloat16, longest wavelength, without a turn)``."""
    found: list[tuple] = []
    for d in DIMS:
        for name, of, frequencies in (
            ("paper", paper, vaswani_frequencies(d)),
            ("doubled", doubled, doubled_frequencies(d)),
        ):
            vectors = of(np.arange(LENGTH), d)
            spans = [moving(vectors, span) for span in (1.0, 0.1, 0.01)]
            slow = int((math.tau / frequencies > LENGTH).sum())
            found.append((d, name, *spans, constant(vectors, jnp.bfloat16), math.tau / frequencies[-1], slow))
    return found


def kernel_rows() -> list[tuple]:
    """``(d_model, formula, K at 1, 6, 44, 63, first offset that rises, the strongest from there, its K, lowest K)``."""
    found: list[tuple] = []
    for d in DIMS:
        for name, frequencies in (("paper", vaswani_frequencies(d)), ("doubled", doubled_frequencies(d))):
            values = kernel(frequencies, np.arange(LENGTH))
            main_lobe, offset, level, _ = lobes(values)
            found.append((d, name, *values[[1, 6, 44, 63]], main_lobe, offset, level, values.min()))
    return found


def _body() -> str:
    waves = [(k, number(2 * k / LENGTH, 3), number(a, 1), number(b, 1)) for k, a, b in wavelength_rows()]
    moves = [(d, name, *counts, number(longest, 0), slow) for d, name, *counts, longest, slow in moving_rows()]
    kernels = [
        (d, name, *(number(value) for value in at), rise, offset, number(level), number(low))
        for d, name, *at, rise, offset, level, low in kernel_rows()
    ]
    eight, eight_doubled = vaswani_frequencies(8), doubled_frequencies(8)
    neighbours = [
        (name, *(f"{other} ({number(c)})" for other, c in nearest(frequencies, 5)[:6]))
        for name, frequencies in (("paper", eight), ("doubled", eight_doubled))
    ]
    right, wrong = (kernel(of(LENGTH), np.array(5)) for of in (vaswani_frequencies, doubled_frequencies))
    at_1, at_63 = kernel(eight_doubled, np.array([1, 63]))
    rank = 1 + [other for other, _ in nearest(eight_doubled, 5)].index(68)
    shifts = []
    for d in (8, 16):
        for name, of in (("paper", paper), ("doubled", doubled), ("doubled, cosine shifted", doubled_and_shifted)):
            vectors = of(np.arange(LENGTH), d)
            norms, residual = np.linalg.norm(vectors, axis=1), shift_residual(vectors, 5)
            shown = "0" if residual < 1e-9 else number(residual, 3)
            shifts.append((d, name, number(norms.min(), 3), number(norms.max(), 3), shown))
    return f"""\
The formula has 10000^(2k/d), where k counts pairs of dimensions and 2k the dimensions themselves. In a loop over the
even dimensions, i = 0, 2, 4, ..., i is already 2k, but this loop doubles it again. Written with arrays:

```python
i = np.arange(0, d, 2)
angles = positions[:, None] * 10000.0 ** (-2 * i / d)  # the paper: -i / d
```

Shapes, bounds and norms are all as they should be, so nothing raises an error.

## Wavelengths
Each frequency is squared, as 10000^(-2 i/d) = (10000^(-i/d))^2: the formula with base 10^8 instead of 10^4. The
wavelengths in positions, at d_model {LENGTH}:

{table(["pair k", "i/d", "paper", "doubled"], waves)}

The ratio of one wavelength to the next is squared as well. The variant reaches the paper's longest wavelengths after
half of its dimensions; the second half is slower than anything in the paper, with wavelengths up to
{doubled_frequencies(LENGTH)[-1] ** -1:.3g} x 2 pi.

## Dimensions that move
Over positions 0 to {LENGTH - 1}: the number of dimensions whose largest and smallest values differ by more than 1, 0.1
and 0.01; the number of dimensions that are constant in bfloat16; the longest wavelength; the number of pairs that do
not complete a turn.

{table(["d", "", "> 1", "> 0.1", "> 0.01", "constant", "longest", "no full turn"], moves)}

## Kernel and aliases
K(offset), the cosine of two positions, at a few offsets; the first offset whose K is larger than that of the offset
before it; the offset with the largest K from there on, and its K; the lowest K up to offset {LENGTH - 1}.

{table(["d", "", "K(1)", "K(6)", "K(44)", "K(63)", "first rise", "strongest", "its K", "lowest K"], kernels)}

The nearly constant half counts as agreement between any two positions, so the lowest K is higher than the paper's at
each d: only the fast half tells positions apart. At d = {LENGTH}, positions 1 and 6, those of "soar" and "migration" in
[the article's example](lesson:eagles), have cosine {number(wrong)} instead of {number(right)}.

At d = 8, two of the four pairs turn by only 0.05 and 0.0005 radians in {LENGTH} positions. The six positions nearest to
position 5, with their cosines:

{table(["", "1st", "2nd", "3rd", "4th", "5th", "6th"], neighbours)}

In the paper's encoding, 68 is the nearest. With the doubled exponent, its cosine is still {number(at_63)}, above that
of 6, {number(at_1)}, but 68 is only the {rank}th nearest: the pair of wavelength 2 pi acts nearly alone, so the nearest
positions are those close to a multiple of 2 pi away.

## A second variant
Some code gives the sine the exponent 2i/d and the cosine beside it 2(i + 1)/d. Then a pair has two frequencies, norms
depend on the position, and no linear map takes PE(p) to PE(p + 5). The last column has the error of the best map, as a
root mean square relative to the vectors ({LENGTH - 5} positions).

{table(["d", "", "smallest norm", "largest norm", "error of the best map"], shifts)}"""


def _answer() -> str:
    right, wrong = (of(np.array([1]), LENGTH)[0, 2] for of in (paper, doubled))
    return f"""The exponent `i / d_model` instead of `(2 * i) / d_model`, or a loop over `range(d_model // 2)` that
writes to 2i and 2i + 1. Dimension 2 of position 1 shows it: sin(1 / 10000^(2/512)) is {number(right)}, but the loop
gives {number(wrong)}. Dimensions 0 and 1 do not show it: their exponent is 0 either way."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

for base in (1e4, 1e8):  # doubling the exponent is squaring the base
    p, q = sinusoidal(np.array([1, 6]), 512, base=base, dtype=np.float64)
    print(f"base {base:.0e}: cosine of positions 1 and 6 {p @ q / 256:.3f}")
"""
LESSON = Lesson(
    name="doubled",
    title="A doubled exponent",
    where="Herath's article: its loop over range(0, d_model, 2)",
    claim="A loop over i = 0, 2, 4, ... with the exponent 2i/d computes the formula.",
    verdict="refuted",
    because="i is already even, so frequencies are squared, half of the dimensions hardly move in a text of 512 "
    "tokens, and positions look more alike.",
    code=CODE,
    body=_body,
    question="What is the smallest change that fixes the loop, and which single number shows whether it is fixed?",
    answer=_answer,
    seconds=2,
)
