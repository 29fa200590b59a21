"""Words that depend on each other over a distance, and frequencies for near and far, by committed results."""

import math

from posenc_jax.encodings import vaswani_frequencies
from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson


def _body() -> str:
    return f"""\
Run the commands in the folder of the repository.

## "Although mary was ..., she decided"
A main clause agrees with the subject and the tense of the clause before it, 1 to 16 words back in training and up to 64
afterwards. The share of sentences for which a decoder of two layers gets both right, over 8 seeds:

{quoted.tables()["agreement"]}

With one exception, neither the distance nor the encoding makes a difference, and a decoder without an encoding is as
good as any: only RoPE gets worse as the distance grows.

## Fast waves for words, slow ones for paragraphs?
Which of two marks among 64 symbols stands earlier, when they are 1 to 6 ("near") or 32 to 63 ("far") positions apart?
An encoder has 32 frequencies over the paper's range, 32 fast ones (wavelengths up to 32 positions), 32 slower ones, or
none; guessing scores 0.5. Over 8 seeds:

{quoted.tables()["bands"]}

Either band alone is enough for both. Thirty-two fast waves of different lengths give each of the 64 positions its own
vector, though each wave repeats; slow waves move a little at every step, and a network can read small differences.
The expectation written down before the run was different: see
[the experiment](file:experiments/word_order/README.md)."""


def _answer() -> str:
    fast = int((vaswani_frequencies(512) > 2 * math.pi / 32).sum())
    return f"""\
{fast} of 256 have a wavelength below 32 positions; the other {256 - fast} are slower. So most of the vector is slow,
and [the heat map](lesson:heatmap) is nearly uniform on the right."""


LESSON = Lesson(
    name="distance",
    title="Near and far words",
    where="The chapter, 4.3.1, 4.3.3 and 4.3.4: distant dependencies; fast and slow frequencies",
    claim="Fast frequencies tell the words of a sentence apart, slow ones the parts of a long text, and models need "
    "them for near and distant dependencies.",
    verdict="refuted",
    because="With fast waves alone, a model orders distant marks as well as near ones (accuracy "
    f"{quoted.mean('bands', 'fast only', 2)}); with slow ones alone, near marks too "
    f"({quoted.mean('bands', 'slow only', 1)}).",
    commands="""
posenc ablate experiments/word_order/near_far.py --directory runs/near_far
posenc ablate experiments/word_order/bands.py --directory runs/bands
""",
    body=_body,
    question="How many of the 256 frequencies at d_model 512 are fast in this sense?",
    answer=_answer,
    seconds=2,
)
