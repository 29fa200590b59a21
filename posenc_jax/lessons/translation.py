"""The gain of a translator from positions, by committed results."""

from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson


def _body() -> str:
    return f"""\
The first command needs a network with Debian's packages, the second 33 minutes on 2 cores, the third some seconds.
It is the encoder and decoder of the paper, small: a vocabulary for both languages (or
[two](file:scripts/docs/guides/encoder-decoder.md)), padding and causal masks, greedy search or a beam.

## What positions are worth
The same model, data, order and seeds with other positions, 1.2 million parameters on help pages, English to German;
chrF is the share of pieces of words that a translation and its reference have in common, in percent. Mean over 4 seeds
[95 % interval]:

{quoted.tables()["translation"]}

Learned tables and a relative encoding (Shaw's, T5's) stand beside the sinusoid here: within the lengths of training
the sinusoid is best, on longer sentences that is gone.
[The experiment](file:experiments/translation/README.md) has the differences seed by seed, and sentences of a
translator that was trained longer, good and bad. It knows help pages: of a sentence about cats and mice
it says which words it does not know, and what it writes then is nonsense. One that can is trained in minutes on
sentences of a small grammar, without a network: `posenc data prepare grammar/en-de`, then
`posenc train configs/sentences.py`.

The chapter's own translator adds the vector of position 0 to every token, as its positions run along the axis of the
batch. [Ten lines](file:scripts/docs/guides/does-it-reach-your-model.md) tell whether positions reach a model of yours.

## What the order is worth
Shuffling the words of the source costs the translator with sinusoids several points, and one without positions
exactly nothing: [word order](file:experiments/word_order/README.md)."""


def _answer() -> str:
    return """\
The decoder writes from left to right under a causal mask, so it sees in which order its own words stand, even
without an encoding ([why](lesson:order)). What it lacks is the order of the *source*: it is told which words there
are, and makes the most likely sentence of them. "John loves Mary" and "Mary loves John" come out as one."""


LESSON = Lesson(
    name="translation",
    title="Translation",
    where="The chapter, 4.3.7: machine translation",
    claim="A translator needs positions to keep the order of words.",
    verdict="confirmed",
    because=f"chrF {quoted.mean('translation', 'sinusoidal', 1)} with sinusoids, "
    f"{quoted.mean('translation', 'nope', 1)} without positions, of which a translator writes the same for "
    "the words of a sentence in any order.",
    commands="""
posenc data prepare help/en-de
posenc train configs/translator.py --directory runs/translator
posenc translate runs/translator "Opens the dialog to format the selected cells." --beam 4
""",
    body=_body,
    question="A translator without positions in its encoder still writes words in a sensible order. How?",
    answer=_answer,
    seconds=2,
)
