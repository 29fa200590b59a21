"""Sentences of the same words in a different order, read by encoders with and without positions."""

import functools

import jax
import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.encodings import Slot, parse
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table

PAIRS = (
    ("john loves mary", "mary loves john"),
    ("the cat chased the mouse", "the mouse chased the cat"),
    ("the cat sat on the mat", "the mat sat on the cat"),
)
VOCABULARY = ("<pad>", *sorted({word for pair in PAIRS for word in pair[0].split()}))
D_MODEL = 32
ENCODINGS = ("nope", "sinusoidal", "learned", "rope")
EQUAL = 1e-5


def outputs(slot: Slot) -> list[np.ndarray]:
    """Outputs of an untrained encoder of two layers for each word of each sentence, ``[words, C]``, pair by pair."""
    from posenc_jax.models import EncoderOnly, Slots, Transformer, build  # here, as the list of lessons needs no Flax

    sentences = [sentence.split() for pair in PAIRS for sentence in pair]
    longest = max(map(len, sentences))
    model = build(
        "encoder_only",
        Transformer(d_model=D_MODEL, num_layers=2, num_heads=4),
        Slots(encoder=slot),
        vocab_size=len(VOCABULARY),
        num_classes=D_MODEL,
        max_len=longest,
        key=jax.random.key(0),
        posenc_key=jax.random.key(1),
    )
    assert isinstance(model, EncoderOnly)
    rows = [[VOCABULARY.index(word) for word in words] + [0] * (longest - len(words)) for words in sentences]
    found = np.asarray(jax.jit(model)(np.array(rows, np.int32)), np.float64)
    return [said[: len(words)] for said, words in zip(found, sentences)]


@functools.cache
def differences(encoding: str) -> list[float]:
    """The largest difference between the outputs for one word in the two sentences of each pair, in standard deviations
    of the outputs.
    """
    found, said = [], outputs(parse(encoding))
    for (first, second), one, two in zip(PAIRS, said[::2], said[1::2]):
        words, others = first.split(), second.split()
        apart = [np.abs(one[words.index(word)] - two[others.index(word)]).max() for word in set(words)]
        found.append(float(max(apart) / one.std()))
    return found


def _body() -> str:
    rows = [[name, *(_shown(value) for value in differences(name))] for name in ENCODINGS]
    return f"""Positions are encoded as [vectors](lesson:vectors), which are added to the vectors of the words. In the
code above, `sinusoidal(np.arange(3), 8)` returns three of them; `sinusoidal(np.arange(50), 128)` would return 50.

## Three pairs of sentences

The two sentences of a pair contain the same words, each equally often. An untrained encoder of two layers (d_model
{D_MODEL}, initialised as usual in this library) reads them all. The table shows the largest difference between its
outputs for a word in the two sentences, in standard deviations of the outputs; "equal" means equal up to float32's
rounding, {EQUAL:.0e}:

{table(["positions", *(f'"{first}" and "{second}"' for first, second in PAIRS)], rows)}

Without positions, attention is a weighted mean over a set: each word sees the same words with the same weights in
both sentences, so the model gives the same output. Nothing trained on top of it can tell the sentences apart.

With any of the other encodings it can. The output for "chased", which stands at position 2 in both sentences, differs
too: the words that it attends to have changed places. The size of a difference depends on the random parameters and
means nothing; what matters is that there is one.

[An experiment](file:experiments/word_order/README.md) has more encodings and trained translators. Some encodings read
the distance between two words without its sign, and cannot tell "Mary loves John" from "John loves Mary" unless a
token marks an end of the sentence."""


def _answer() -> str:
    return """No. In a decoder, the mask lets a word see only itself and the words before it, so the first word sees one
word and the last one sees all. From the second layer on, that tells positions apart, even without an encoding (Haviv
et al. 2022). To use this mask in the code above, write
`posenc_jax.encodings.Geometry.of_length(3, num_heads=1, causal=True)`."""


def _shown(value: float) -> str:
    return "equal" if value < EQUAL else number(value, 2)


CODE = """
import numpy as np
from posenc_jax.encodings import Geometry, attend, sinusoidal

words = np.random.default_rng(0).normal(size=(3, 8)).astype(np.float32)  # john, loves, mary


def loves(x):  # what attention, without any layer around it, gives the word in the middle
    x = x[None, None]
    return attend(x, x, x, (), (), Geometry.of_length(3, num_heads=1))[0, 0, 1]


for name, positions in {"no positions": 0, "positions": sinusoidal(np.arange(3), 8)}.items():
    apart = np.abs(loves(words + positions) - loves(words[::-1] + positions)).max()
    print(f"{name}: {apart:.2f}")
"""
LESSON = Lesson(
    name="order",
    title="Who chased whom?",
    where="The chapter, 4.3 and 4.3.1: cat and mat, John and Mary, cat and mouse",
    claim="Without positions, a Transformer reads two sentences of the same words as the same sentence.",
    verdict="confirmed",
    because="An encoder gives each word the same output in both, up to rounding in the last bits; with positions it "
    "does not.",
    code=CODE,
    body=_body,
    question="In an encoder, every word sees all words. Is a *decoder* without positions blind to order as well?",
    answer=_answer,
    seconds=10,
)
