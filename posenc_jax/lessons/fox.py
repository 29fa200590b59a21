"""From "the quick brown fox" to what the first layer of an encoder reads, number by number, at d_model 4."""

import functools
from typing import Any

import jax
import numpy as np

from posenc_jax.drawing.plain import number
from posenc_jax.encodings import Sinusoidal, sinusoidal
from posenc_jax.lessons.lesson import Lesson
from posenc_jax.lessons.markdown import table, vector

WORDS = ("the", "quick", "brown", "fox")
VOCABULARY = ("<pad>", "<s>", "</s>", "brown", "fox", "quick", "the")
D_MODEL = 4
RATE = 0.1


@functools.cache
def model() -> Any:
    """An untrained encoder of one layer; its table is drawn from N(0, 1/4)."""
    from posenc_jax.models import Slots, Transformer, build  # here, as the list of lessons needs no Flax

    return build(
        "encoder_only",
        Transformer(d_model=D_MODEL, num_layers=1, num_heads=1, dropout=RATE),
        Slots(encoder=(Sinusoidal(),)),
        vocab_size=len(VOCABULARY),
        num_classes=len(VOCABULARY),
        max_len=len(WORDS),
        key=jax.random.key(0),
        posenc_key=jax.random.key(1),
    )


def ids() -> list[int]:
    """The numbers of the words."""
    return [VOCABULARY.index(word) for word in WORDS]


def table_of_positions(count: int) -> np.ndarray:
    """``[count, 4]`` in float64."""
    return np.asarray(sinusoidal(np.arange(count), D_MODEL, dtype=np.float64))


def by_hand() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the table, the same scaled, and with positions added, ``[4, 4]`` each."""
    rows = np.asarray(model().embedding.table[...], np.float64)[ids()]
    scaled = rows * D_MODEL**0.5
    return rows, scaled, scaled + table_of_positions(len(WORDS))


def inputs(*, train: bool) -> np.ndarray:
    """``[4, 4]``: what the model's first layer is given."""
    from posenc_jax.models import Streams

    tokens = np.array([ids()], np.int32)
    _, captured = model()(tokens, streams=Streams(dropout=jax.random.key(7)), train=train, capture=True)
    return np.asarray(captured["encoder"]["embeddings"][0], np.float64)


def _body() -> str:
    rows, scaled, added = by_hand()
    trained = inputs(train=True)
    dropped = trained == 0
    positions = table_of_positions(3)

    def words(values: np.ndarray) -> str:
        return table(["token", *range(D_MODEL)], [[w, *map(number, v)] for w, v in zip(WORDS, values, strict=True)])

    first, third = WORDS[0], WORDS[2]
    return f"""\
Every number comes from a real, untrained encoder of this library: one layer, d_model {D_MODEL}, sinusoidal positions,
dropout {RATE}. Its embedding table is random, so the words mean nothing yet.

## 1. Tokens
The vocabulary has {len(VOCABULARY)} entries: {", ".join(f"`{word}` = {i}" for i, word in enumerate(VOCABULARY))}.

{table(["position", *range(len(WORDS))], [["token", *WORDS], ["number", *ids()]])}

## 2. Embeddings
Each number selects a row of the table, drawn from a normal distribution with variance 1/{D_MODEL}:

{words(rows)}

## 3. Scaled
The rows are multiplied by sqrt(d_model) = {number(D_MODEL**0.5, 1)} (Vaswani et al. 2017, section 3.4), so that an
entry has variance 1 and is not drowned out by sines and cosines:

{words(scaled)}

## 4. Positions added
The position vectors are those of [the table at d_model 4](lesson:formula).
They are added to the scaled embeddings entry by entry. For "{third}" at position 2:

    {vector(scaled[2])}    scaled embedding
    {vector(positions[2])}    position 2
    {vector(added[2])}    their sum

{words(added)}

The model gives the same within float32's rounding: this is what its first layer reads outside training.

## 5. Dropout
In training, each entry becomes 0 with probability {RATE}, and the others are divided by {1 - RATE:.1f}, so that their
expectation stays the same. With the random key used here, dropout zeroes {int(dropped.sum())} of {dropped.size}
entries:

{words(trained)}

For the first entry of "{first}", {number(added[0, 0])} / {1 - RATE:.1f} = {number(added[0, 0] / (1 - RATE))}, and the
model has {number(trained[0, 0])}. This is the encoder's input: words and positions in one sum, which the layers have to
tell apart."""


def _answer() -> str:
    apart = sinusoidal(np.array([0, 1000]), D_MODEL, dtype=np.float64)
    return f"""The encoder would add {vector(apart[1] - apart[0])} more than at position 0: the entries of "the"
change by up to {number(np.abs(apart[1] - apart[0]).max(), 2)}, as much as two words differ. The sum does not say which
part came from the word. Two words at two positions can even have the same sum, if the differences of their embeddings
and of their positions cancel; layers can tell word and position apart only as far as training has put them into
different directions."""


CODE = """
import numpy as np
from posenc_jax.encodings import sinusoidal

words = np.random.default_rng(0).normal(size=(4, 4))  # the, quick, brown, fox
print((words + sinusoidal(np.arange(4), 4, dtype=np.float64)).round(2))
"""
LESSON = Lesson(
    name="fox",
    title=f'"{" ".join(WORDS)}", from words to the encoder\'s input',
    where="The article on PyTorch: its figure of four words; the chapter, 4.3.2 and the PyTorch module",
    claim="Each word becomes a vector, each position another vector of the same size, and the model reads their sum.",
    verdict="confirmed",
    because="The first layer of an encoder of this library reads what a calculation by hand gives, up to float32's "
    "rounding; in training, dropout follows.",
    code=CODE,
    pictures=("flow",),
    body=_body,
    question='How would the input of the encoder for "the" change if the sentence began at position 1,000?',
    answer=_answer,
    seconds=8,
)
