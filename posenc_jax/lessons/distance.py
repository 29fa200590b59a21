"""Words that depend on each other over a distance, and frequencies for near and far, by committed results."""

import math

from posenc_jax.encodings import vaswani_frequencies
from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson


def _body() -> str:
    return f"""\
The commands are for the folder of the repository.

## "Although mary was ..., she decided"
A main clause agrees with the subject and the tense of the clause before it, 1 to 16 words back in training and up to 64
afterwards. The share of sentences with both answers right, by a decoder of two layers, over 8 seeds:

{quoted.tables()["agreement"]}

Near and far make no difference, nor does the encoding: a decoder without one is as good. RoPE alone loses with the
distance.

## Fast waves for words, slow ones for paragraphs?
Two marks among 64 symbols: which stands earlier, where they are 1 to 6 apart ("near") or 32 to 63 ("far")? An encoder
with the paper's frequencies, with only those whose wavelengths are below 32 positions, with only the slower ones, and
with none; guessing has 0.5. Over 8 seeds:

{quoted.tables()["bands"]}

Either band alone does for both. Thirty-two fast waves of different length give every one of 64 positions a vector of
its own, though each wave comes round; slow waves move a little at every step, and a network reads little differences.
What was expected, and written down before, was otherwise: [the experiment](file:experiments/word_order/README.md)."""


def _answer() -> str:
    fast = int((vaswani_frequencies(512) > 2 * math.pi / 32).sum())
    return f"""\
{fast} of 256 have a wavelength below 32 positions; the other {256 - fast} are slower. So most of the vector is slow,
and [the heat map](lesson:heatmap) is plain on the right."""


LESSON = Lesson(
    name="distance",
    title="Near and far words",
    where="The chapter, 4.3.1, 4.3.3 and 4.3.4: distant dependencies; fast and slow frequencies",
    claim="Fast frequencies tell the words of a sentence apart, slow ones the parts of a long text, and models need "
    "them for dependencies near and far.",
    verdict="refuted",
    because="With fast waves alone a model orders distant marks as well as near ones, accuracy "
    f"{quoted.mean('bands', 'fast only', 2)}; with slow ones alone near marks, {quoted.mean('bands', 'slow only', 1)}.",
    commands="""
posenc ablate experiments/word_order/near_far.py --directory runs/near_far
posenc ablate experiments/word_order/bands.py --directory runs/bands
""",
    body=_body,
    question="How many of the 256 frequencies at d_model 512 are fast in this sense?",
    answer=_answer,
    seconds=2,
)
