"""How alike two positions are, by how far apart they stand: 5 against 6, 20 and 100, and against 68."""

import numpy as np

from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.drawing.plain import number
from posenc_jax.encodings import vaswani_frequencies
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

LENGTH = 512
OTHERS = (6, 20, 100)
WIDTHS = (8, 16, 32, 64, 128, 512, 1024)


def cosines(d_model: int, position: int = 5, others: tuple[int, ...] = OTHERS) -> list[float]:
    """The cosine of the vector of a position with those of others."""
    return [float(k) for k in kernel(vaswani_frequencies(d_model), np.array(others) - position)]


def nearest_offset(d_model: int, length: int) -> int:
    """The offset below the length, not 0, at which positions are most alike."""
    return 1 + int(kernel(vaswani_frequencies(d_model), np.arange(1, length)).argmax())


def smallest_without_alias(length: int) -> int:
    """The smallest even d_model from which on, up to 32, offset 1 is the most alike of all below the length."""
    bad = [d for d in range(2, 34, 2) if nearest_offset(d, length) != 1]
    return max(bad) + 2


def _body() -> str:
    by_width = []
    for d in WIDTHS:
        found = cosines(d)
        by_width.append((d, *map(number, found), "yes" if found == sorted(found, reverse=True) else "**no**"))
    falls = []
    for d in WIDTHS:
        values = kernel(vaswani_frequencies(d), np.arange(LENGTH))
        rise, offset, level, maxima = lobes(values)
        nearer = int((values[2:] >= values[1]).sum())
        falls.append((d, number(values[1]), rise, offset, number(level), len(maxima), nearer))
    from_on = [(f"{length:,}", smallest_without_alias(length)) for length in (64, 512, 10**4, 10**5)]
    return f"""## 5 against 6, 20 and 100
The chapter's example, as cosines of the vectors. The example holds if the three numbers fall.

{table(["d", "5 and 6", "5 and 20", "5 and 100", "falls"], by_width)}

At d_model 512 it holds. At d_model 8, position 100 is more like 5 than position 20 is. In both cases, the example is
three points on a curve:

## The curve
The cosine of two positions is K(offset), the mean of cos(offset x frequency). It depends on nothing else, and K(-k) =
K(k): before and after look the same. The table covers offsets up to {LENGTH - 1}: K(1), that of neighbours; the first
offset whose K is larger than that of the offset before it; the offset with the largest K from there on, and its K; the
number of local maxima; and the number of offsets above 1 whose K is at least K(1).

{table(["d", "K(1)", "first rise", "most alike then", "its K", "maxima", "as near as neighbours"], falls)}

K never falls steadily. But from some d on, no position is nearer than the neighbours. The smallest such d, by length
(even d up to 32 were tried):

{table(["length", "d"], from_on)}"""


def _answer() -> str:
    small, large = cosines(8, others=(68,))[0], cosines(512, others=(68,))[0]
    return f"""At d_model 8, yes: its cosine with 5 is {number(small)}, that of 6 is {number(cosines(8)[0])};
[positions 5 and 68](lesson:aliases) explains why. At d_model 512, no: its cosine is {number(large)}, below that of 20
and above that of 100, as it should be."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

for d in (512, 8):
    five, *others = sinusoidal(np.array([5, 6, 20, 100]), d, dtype=np.float64)
    print(d, [f"{five @ other / (d / 2):.3f}" for other in others])
"""
LESSON = Lesson(
    name="near",
    title="Near and far: 5 against 6, 20 and 100",
    where="The chapter, 4.3.4, on smoothness",
    claim="The nearer two positions, the more alike their vectors: 5 is more like 6 than 20, more like 20 than 100.",
    verdict="holds under a condition",
    because="The cosines are 0.973, 0.645, 0.442 at d_model 512, but 0.884, 0.325, 0.328 at d_model 8; and at no "
    "width does the cosine fall steadily with the distance.",
    code=CODE,
    commands="posenc aliases sinusoidal --d-model 512 --pair 5 20\nposenc vectors sinusoidal --positions 5 6 20 100",
    pictures=("kernel-128x512",),
    body=_body,
    question="Is position 68 nearer to 5 than 6 is, at d_model 8 and at d_model 512?",
    answer=_answer,
    seconds=3,
)
