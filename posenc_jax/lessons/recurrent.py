"""A recurrent network reads in order, so it needs no positions: shown by a few lines, and by a committed training."""

from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson


def _body() -> str:
    return f"""\
A recurrent network reads word by word and carries a state along, so its state after three words depends on which came
first. Attention reads all words at once, as a weighted mean; [without positions](lesson:order), a mean has no order.

## Trained
A small GRU (d_model 64, no positions) is trained on two tasks that depend on order: which of two marks among 64
symbols stands earlier (near: at most 6 apart, far: at least 32), and agreement with a subject that stands a given
number of words back (1 to 16 in training). Over 8 seeds:

{quoted.tables()["recurrent"]}

An encoder without positions can only guess in the first task ([half of its answers are right](lesson:distance)). So
positions restore what attention gives up to read all words at once; the GRU pays for order with time, one step after
another. [The experiment](file:experiments/word_order/README.md) describes the setting."""


def _answer() -> str:
    return """\
Yes, but less than for an encoder: a causal mask already gives a decoder some order, since each word sees one word more
than the word before it. On [agreement](lesson:distance), a decoder without an encoding is as good as any with one, and
better than the GRU at 64 words."""


CODE = """
import numpy as np

rng = np.random.default_rng(0)
words, read, keep = rng.normal(size=(3, 8)), rng.normal(size=(8, 8)) / 3, rng.normal(size=(8, 8)) / 3
for name, sentence in {"john loves mary": words, "mary loves john": words[::-1]}.items():
    state = np.zeros(8)
    for word in sentence:
        state = np.tanh(word @ read + state @ keep)
    print(f"{name}: state {state[:2].round(2)}, mean {sentence.mean(axis=0)[:2].round(2)}")
"""
LESSON = Lesson(
    name="recurrent",
    title="A network that reads in order",
    where="The chapter, 4.3: recurrent networks keep the order of a sequence",
    claim="A recurrent network knows the order of words by itself; attention has to be told.",
    verdict="confirmed",
    because="A GRU without positions answers every question about order correctly within the training lengths, and "
    f"{quoted.mean('recurrent', 'agreement | 64 | exact match', 3)} of those at four times the length.",
    code=CODE,
    body=_body,
    question="Do positions add anything for a decoder, which reads from left to right as well?",
    answer=_answer,
    seconds=2,
)
