"""Which encoding inflects words that are longer than any in training?

    posenc verdict nope alibi t5 --once --on experiments/own_questions/inflection.py
    posenc train experiments/own_questions/inflection.py

Letters of an invented word, then its past tense by the rules of English spelling: -ed behind most words, -d behind e,
-ied for a y behind a consonant. Trained on words of 3 to 8 letters, tested on up to 16.
"""

import dataclasses

import jax.numpy as jnp

from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks.base import Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, SPECIAL_NAMES, prompted
from posenc_jax.encodings.interface.base import Array

LETTERS = "aeiouybdgklmnprt"
E, Y, D, IED, ED = (tuple(LETTERS.index(letter) for letter in word) for word in ("e", "y", "d", "ied", "ed"))


@dataclasses.dataclass(frozen=True)
class Inflection(RangedTask):
    """A word of ``length`` letters, then its past tense and the end: ``k a n e -> k a n e d``."""

    min_length: int = 3
    max_length: int = 8

    name = "inflection"
    paper = citation = ""
    metric = "exact_match"
    length_unit = "letters"

    @property
    def least_length(self) -> int:
        return 2

    @property
    def vocab_size(self) -> int:
        return NUM_SPECIAL + len(LETTERS)

    @property
    def token_names(self) -> tuple[str, ...]:
        return (*SPECIAL_NAMES, *LETTERS)

    def width(self, max_length: int) -> int:
        """The beginning, the word, an arrow, and two letters more than the word at most."""
        return 2 + max_length + max_length + 2

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """A word of random letters; training and test do not differ."""
        word = integers(key, (max_length,), len(LETTERS))
        last, before = word[length - 1], word[length - 2]
        plain, dropped = last == E[0], (last == Y[0]) & (before > Y[0])
        kept = length - dropped
        endings = jnp.asarray([(*D, 0, 0), IED, (*ED, 0)])[jnp.where(plain, 0, jnp.where(dropped, 1, 2))]
        step = jnp.arange(max_length + 2)
        ending = endings[jnp.clip(step - kept, 0, 2)]
        past = jnp.where(step < kept, word[jnp.minimum(step, max_length - 1)], ending)
        letters = kept + jnp.where(plain, 1, jnp.where(dropped, 3, 2))
        return prompted(NUM_SPECIAL + word, length, NUM_SPECIAL + past, letters)


config = Run(
    task=Inflection(),
    model=Transformer(d_model=64, num_layers=2, num_heads=4),
    optimizer=Optimizer(schedule="linear", warmup_steps=50),
    training=Training(steps=500, batch_size=32, microbatches=2, log_every=100),
    evaluation=Evaluation(lengths=(4, 6, 8, 9, 10, 12, 16), num_examples=128),
    learning_rates=(1e-3, 2e-3),
)
