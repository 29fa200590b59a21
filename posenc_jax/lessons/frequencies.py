"""Fast and slow dimensions, and the lengths of their waves."""

import math

import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.encodings import sinusoidal, tensor2tensor_frequencies, vaswani_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

D_MODEL, LENGTH = 512, 512
PAIRS = (0, 1, 2, 32, 64, 96, 128, 160, 192, 224, 254, 255)


def sign_changes(d_model: int, length: int) -> np.ndarray:
    """``[d_model // 2]``: how often each sine changes its sign on the way from position 1 to length - 1."""
    sines = sinusoidal(np.arange(1, length), d_model, dtype=np.float64)[:, 0::2]
    return (np.diff(np.sign(sines), axis=0) != 0).sum(axis=0)


def strongest_frequency(d_model: int, length: int) -> np.ndarray:
    """``[d_model // 2]``: radians per position at which the discrete Fourier transform of each sine is largest."""
    sines = sinusoidal(np.arange(length), d_model, dtype=np.float64)[:, 0::2]
    bins = np.abs(np.fft.rfft(sines * np.hanning(length)[:, None], axis=0))[1:].argmax(axis=0) + 1
    return bins * math.tau / length


def rows() -> list[tuple]:
    """``(k, dimensions, divisor, frequency, wavelength, sign changes)``."""
    w, changes = vaswani_frequencies(D_MODEL), sign_changes(D_MODEL, LENGTH)
    return [(k, f"{2 * k}, {2 * k + 1}", 1 / w[k], w[k], math.tau / w[k], changes[k]) for k in PAIRS]


def longest_rows() -> list[tuple]:
    """``(d_model, longest wavelength over 2 pi, in positions, tensor2tensor's over 2 pi)``."""
    return [
        (
            d,
            1 / vaswani_frequencies(d)[-1],
            math.tau / vaswani_frequencies(d)[-1],
            1 / tensor2tensor_frequencies(d)[-1],
        )
        for d in (4, 8, 64, 128, 512, 1024, 4096)
    ]


def _body() -> str:
    shown = [
        (k, dims, number(divisor, 2), number(w, 6), number(wave, 1), changes)
        for k, dims, divisor, w, wave, changes in rows()
    ]
    longest = [
        (d, number(over, 1), number(wave, 1), number(other, 1), number(100 * (1 - over / 10000), 1))
        for d, over, wave, other in longest_rows()
    ]
    w, found = vaswani_frequencies(D_MODEL), strongest_frequency(D_MODEL, LENGTH)
    spectrum = [(k, number(w[k], 3), number(found[k], 3)) for k in (0, 16, 32, 64, 96, 128)]
    within = int((math.tau / w <= LENGTH).sum())
    return f"""\
It is sometimes said that dimensions with a small index i have a low frequency. The reverse is true. In the angle p /
10000^(2k/d), the exponent is small for small k, so the divisor is small and the angle grows fast:

- k = 0: the divisor is 1 and the angle grows by 1 radian per position, so this is the highest frequency and the
  shortest wavelength, 2 pi.
- k = d/2 - 1, the last pair: the divisor is nearly 10000 and the angle hardly grows, so this is the lowest frequency
  and the longest wavelength.

The mistake may come from the small *exponent*: it gives a small divisor, and so a large angle.

## At d_model {D_MODEL}
The last column counts, in the vectors themselves, how often the sine changes sign from position 1 to
{LENGTH - 1}; a sine of frequency w does so about {LENGTH - 1} w / pi times.

{table(["pair k", "dimensions", "divisor", "frequency", "wavelength", "sign changes"], shown)}

Frequencies fall in a geometric progression: each is {number(w[1], 4)} times the one before. {within} of {D_MODEL // 2}
pairs complete a turn within {LENGTH} positions.

## Measured without the formula
The table compares the frequency of the formula with the one at which the Fourier transform of the column is largest
(its resolution is {number(math.tau / LENGTH, 3)}):

{table(["pair k", "formula", "transform"], spectrum)}

## From 2 pi to 10000 x 2 pi?
The shortest wavelength is exactly 2 pi. The longest is base^(1 - 2/d) x 2 pi, since the last k is d/2 - 1. It is
always below 10000 x 2 pi = {number(20000 * math.pi, 1)}. tensor2tensor's code divides k by d/2 - 1 instead of d/2 and
does reach 10000 x 2 pi.

{table(["d", "longest / 2 pi", "in positions", "tensor2tensor, / 2 pi", "paper falls short by %"], longest)}

From d = 512 on, the difference is small; at d = 8, the longest wavelength is a tenth of the one stated."""


def _answer() -> str:
    w = vaswani_frequencies(128)
    within = int((math.tau / w <= 50).sum())
    return f"""{within} of {len(w)}, those of dimensions 0 to {2 * within - 1}: pair k has the wavelength
2 pi 10000^(2k/128), which is {number(math.tau / w[within - 1], 1)} for pair {within - 1} and
{number(math.tau / w[within], 1)} for pair {within}. In the heat map of 50 positions they are the striped columns on
the left; the others are gradients."""


CODE = """
import numpy as np
from posenc_jax.encodings import vaswani_frequencies

wavelengths = 2 * np.pi / vaswani_frequencies(512)
print(f"first pair {wavelengths[0]:.2f}, last pair {wavelengths[-1]:.0f}, 10000 x 2 pi is {20000 * np.pi:.0f}")
"""
LESSON = Lesson(
    name="frequencies",
    title="Which end is slow?",
    where="The chapter, 4.3.4: low frequencies at small i; Herath's article: from 2 pi to 10000 x 2 pi",
    claim="Small i means a low frequency, and wavelengths go from 2 pi to 10000 x 2 pi.",
    verdict="refuted",
    because="The reverse is true: the first pair of dimensions is the fastest. The longest wavelength is below "
    "10000 x 2 pi at every width, and a tenth of it at d_model 8.",
    code=CODE,
    pictures=("wavelengths-512", "waves-128x512"),
    body=_body,
    question="How many of the 64 pairs at d_model 128 go through a whole wave within 50 positions, and which are they?",
    answer=_answer,
    seconds=4,
    formula=r"\omega_i = 10000^{-2i/d}, \qquad \text{wavelength } \frac{2\pi}{\omega_i} = 2\pi \cdot 10000^{2i/d}, "
    r"\qquad i = 0, \dots, \frac{d}{2} - 1",
)
