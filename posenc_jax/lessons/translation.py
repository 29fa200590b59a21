"""The gain of a translator from positions, by committed results."""

from posenc_jax.lessons import quoted
from posenc_jax.lessons.lesson import Lesson


def _body() -> str:
    return f"""\
The first command needs network access to Debian's packages; the second takes 33 minutes on 2 cores, the third a few
seconds.
The model is the paper's encoder and decoder at a small size: one vocabulary for both languages (or
[two](file:scripts/docs/guides/encoder-decoder.md)), padding and causal masks, greedy or beam search.

## What positions are worth
Encodings are compared with the same model (1.2 million parameters), data, order and seeds, on help pages from English
to German. chrF is the share of pieces of words that a translation and its reference have in common, in percent. Mean
over 4 seeds [95 % interval]:

{quoted.tables()["translation"]}

Here the sinusoid is compared with learned tables and relative encodings such as Shaw's and T5's: within the training
lengths the sinusoid is best; on longer sentences, that advantage is gone.
[The experiment](file:experiments/translation/README.md) has the differences seed by seed, and good and bad sentences of
a translator that was trained longer. It knows help pages: given a sentence about cats and mice, it reports the words
that it does not know, and its translation is nonsense. A translator for such sentences is trained in minutes on
sentences of a small grammar, without network access: `posenc data prepare grammar/en-de`, then
`posenc train configs/sentences.py`.

The chapter's own translator adds the vector of position 0 to every token, as its positions run along the batch axis.
[Ten lines](file:scripts/docs/guides/does-it-reach-your-model.md) show whether positions reach a model of yours.

## What the order is worth
Shuffling the words of the source costs the translator with sinusoids several points, and one without positions
exactly nothing: see [word order](file:experiments/word_order/README.md)."""


def _answer() -> str:
    return """\
The decoder writes from left to right under a causal mask, so it sees the order of its own words even without an
encoding ([why](lesson:order)). What it lacks is the order of the *source*: it is told which words there are, and makes
the most likely sentence of them. "John loves Mary" and "Mary loves John" get the same translation."""


LESSON = Lesson(
    name="translation",
    title="Translation",
    where="The chapter, 4.3.7: machine translation",
    claim="A translator needs positions to keep the order of words.",
    verdict="confirmed",
    because=f"chrF is {quoted.mean('translation', 'sinusoidal', 1)} with sinusoids and "
    f"{quoted.mean('translation', 'nope', 1)} without positions; a translator without them writes the same for the "
    "words of a sentence in any order.",
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
