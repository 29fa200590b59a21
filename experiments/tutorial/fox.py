"""From "the quick brown fox" to what the first layer of an encoder reads, number by number, at d_model 4.

python -m experiments.tutorial.fox
"""

import functools

import jax
import numpy as np

from experiments.tutorial.markdown import number, table, vector
from posenc_jax.encodings import Sinusoidal, sinusoidal, vaswani_frequencies
from posenc_jax.models import EncoderOnly, Slots, Streams, Transformer, build

WORDS = ("the", "quick", "brown", "fox")
VOCABULARY = ("<pad>", "<s>", "</s>", "brown", "fox", "quick", "the")
D_MODEL = 4
RATE = 0.1


@functools.cache
def model() -> EncoderOnly:
    """An untrained encoder of one layer; its table is drawn from N(0, 1/4)."""
    built = build(
        "encoder_only",
        Transformer(d_model=D_MODEL, num_layers=1, num_heads=1, dropout=RATE),
        Slots(encoder=(Sinusoidal(),)),
        vocab_size=len(VOCABULARY),
        num_classes=len(VOCABULARY),
        max_len=len(WORDS),
        key=jax.random.key(0),
        posenc_key=jax.random.key(1),
    )
    assert isinstance(built, EncoderOnly)
    return built


def ids() -> list[int]:
    """The numbers of the words."""
    return [VOCABULARY.index(word) for word in WORDS]


def table_of_positions(count: int) -> np.ndarray:
    """``[count, 4]`` in float64."""
    return sinusoidal(np.arange(count), D_MODEL, dtype=np.float64)


def by_hand() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the table, the same scaled, and with positions added, ``[4, 4]`` each."""
    rows = np.asarray(model().embedding.table[...], np.float64)[ids()]
    scaled = rows * D_MODEL**0.5
    return rows, scaled, scaled + table_of_positions(len(WORDS))


def inputs(*, train: bool) -> np.ndarray:
    """``[4, 4]``: what the model's first layer is given."""
    tokens = np.array([ids()], np.int32)
    _, captured = model()(tokens, streams=Streams(dropout=jax.random.key(7)), train=train, capture=True)
    return np.asarray(captured["encoder"]["embeddings"][0], np.float64)


def page() -> str:
    """The page."""
    rows, scaled, added = by_hand()
    trained = inputs(train=True)
    dropped = trained == 0
    frequencies = vaswani_frequencies(D_MODEL)
    positions = table_of_positions(3)
    formulas = ["sin(p)", "cos(p)", f"sin({number(frequencies[1], 2)} p)", f"cos({number(frequencies[1], 2)} p)"]

    def words(values: np.ndarray) -> str:
        return table(["token", *range(D_MODEL)], [[w, *map(number, v)] for w, v in zip(WORDS, values, strict=True)])

    first, third = WORDS[0], WORDS[2]
    return f"""# "{" ".join(WORDS)}", from tokens to the encoder's input

Every number is of a real, untrained encoder of this library: one layer, d_model {D_MODEL}, sinusoidal positions,
dropout {RATE}. The table of its embeddings is drawn, so the words mean nothing yet.

## 1. Tokens
A vocabulary of {len(VOCABULARY)}: {", ".join(f"{word} = {i}" for i, word in enumerate(VOCABULARY))}.

{table(["position", *range(len(WORDS))], [["token", *WORDS], ["number", *ids()]])}

## 2. Embeddings
Each number picks a row of the table, drawn from a normal distribution of variance 1/{D_MODEL}:

{words(rows)}

## 3. Scaled
Times sqrt(d_model) = {number(D_MODEL**0.5, 1)} (Vaswani et al. 2017, section 3.4), so that an entry has variance 1,
and does not drown beside sines and cosines:

{words(scaled)}

## 4. The table of positions at d_model 4
Two pairs, of frequencies {number(frequencies[0], 2)} and {number(frequencies[1], 2)} = 10000^(-2/4). Positions 0 to 2:

{table(["position", *formulas], [[p, *(number(x) for x in positions[p])] for p in range(3)])}

Position 0 is 0, 1, 0, 1. From one position to the next the first pair turns by a radian, the second by a hundredth of
one: over three words it hardly moves.

## 5. Added
Entry by entry, scaled embedding plus position. For "{third}" at position 2:

    {vector(scaled[2])}    scaled embedding
    {vector(positions[2])}    position 2
    {vector(added[2])}    their sum

{words(added)}

The model gives the same within float32's rounding: this is what its first layer reads when nothing is trained.

## 6. Dropout
In training each entry becomes 0 with probability {RATE}, and the others are divided by {1 - RATE:.1f}, so that their
expectation stays. With one key of many, {int(dropped.sum())} of {dropped.size} entries are gone:

{words(trained)}

The first entry of "{first}": {number(added[0, 0])} / {1 - RATE:.1f} = {number(added[0, 0] / (1 - RATE))}, and the model
has {number(trained[0, 0])}. This is the encoder's input: words and positions in one sum, which the layers have to tell
apart."""


if __name__ == "__main__":
    print(page())
