"""Which encodings tell a sentence from the same words with two of them swapped? An untrained encoder is asked.

python experiments/word_order/check.py
"""

import jax
import numpy as np
from flax import nnx

from posenc_jax.encodings import parse
from posenc_jax.models import Slots, Transformer, build

PAIRS = (
    ("john loves mary", "mary loves john"),
    ("<s> john loves mary", "<s> mary loves john"),
    ("the cat sat on the mat", "the mat sat on the cat"),
)
WORDS = sorted({word for pair in PAIRS for sentence in pair for word in sentence.split()})
# Where in the first sentence each word of the second stands.
ORDERS = ((2, 1, 0), (0, 3, 2, 1), (0, 5, 2, 3, 4, 1))
ENCODINGS = (
    "nope",
    "sinusoidal",
    "learned",
    "rope",
    "t5",
    "shaw",
    "transformer_xl",
    "deberta",
    "alibi",
    "kerple",
    "fire",
)
ROUNDING = 1e-12  # of float64, in which all is computed


def batch():
    """Tokens ``[6, 6]`` of all sentences, and which of them are real."""
    sentences = [sentence.split() for pair in PAIRS for sentence in pair]
    tokens, real = np.zeros((2, len(sentences), 6), np.int32)
    for row, sentence in enumerate(sentences):
        tokens[row, : len(sentence)] = [WORDS.index(word) for word in sentence]
        real[row, : len(sentence)] = 1
    return tokens, real


def encoder(spec):
    """Two layers of width 16; all parameters, the encoding's too, are drawn from a normal distribution, sigma 0.35."""
    config, slots = Transformer(d_model=16, num_layers=2, num_heads=2), Slots(encoder=parse(spec))
    sizes = {"vocab_size": len(WORDS), "num_classes": 8, "max_len": 6}
    keys = {"key": jax.random.key(0), "posenc_key": jax.random.key(1)}
    graph, state = nnx.split(nnx.eval_shape(lambda: build("encoder_only", config, slots, **sizes, **keys)))
    rng = np.random.default_rng(0)
    return graph, jax.tree.map(lambda leaf: 0.35 * rng.normal(size=leaf.shape), state)


def row(spec):
    """Per pair, the largest difference of a word's outputs between the two sentences, in their standard deviations."""
    with jax.enable_x64(True):
        graph, state = encoder(spec)
        tokens, real = batch()
        outputs = np.asarray(jax.jit(lambda state: nnx.merge(graph, state)(tokens, segment_ids=real))(state))
    spread = outputs[real == 1].std()
    return [
        float(np.abs(outputs[2 * i, list(order)] - outputs[2 * i + 1, : len(order)]).max() / spread)
        for i, order in enumerate(ORDERS)
    ]


def table():
    """Rows ``(spec, difference of each pair ...)``."""
    return [(spec, *row(spec)) for spec in ENCODINGS]


def markdown(rows):
    """The table of the README."""
    shown = [[spec, *("equal" if x < ROUNDING else f"{x:.2g}" for x in found)] for spec, *found in rows]
    head = ["encoding", *(" / ".join(pair).replace("<", "&lt;") for pair in PAIRS)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *shown))


if __name__ == "__main__":
    print(markdown(table()))
