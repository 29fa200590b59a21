"""Which encoding forecasts a seasonal series from a history that is longer than any in training?

    posenc verdict sinusoidal t5 --on experiments/own_questions/season.py
    posenc train experiments/own_questions/season.py

Monthly values in 8 levels, with the same course every year and months that were not measured. After each month the next
one is asked, where a year before or two years before it was measured. Trained on 2 to 4 years, tested on up to 8.
"""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks.base import Example, RangedTask, Split, integers
from posenc_jax.encodings.interface.base import Array

LEVELS, YEAR, MISSED = 8, 12, 6  # one month in MISSED has no value
GAP = LEVELS


@dataclasses.dataclass(frozen=True)
class Season(RangedTask):
    """``x_t = s_(t mod 12)``, but for gaps; the true ``x_(t + 1)`` is asked after ``x_t`` from the second year on, also
    where its own measurement is missing, unless both those of one and of two years before it are.
    """

    min_length: int = 24
    max_length: int = 48

    name = "season"
    paper = citation = ""
    metric = "accuracy"
    chance = 1 / LEVELS
    length_unit = "months"

    @property
    def least_length(self) -> int:
        return YEAR + 1

    @property
    def vocab_size(self) -> int:
        return LEVELS + 1

    @property
    def token_names(self) -> tuple[str, ...]:
        return (*map(str, range(LEVELS)), "?")

    def width(self, max_length: int) -> int:
        """All months but the last one, which only is a target."""
        return max_length - 1

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """A random year and random gaps; training and test do not differ."""
        year_key, gap_key = jax.random.split(key)
        month = jnp.arange(max_length)
        values = integers(year_key, (YEAR,), LEVELS)[month % YEAR]
        # A key for each month, so that gaps do not depend on the padding.
        gaps = jax.vmap(lambda own: integers(jax.random.fold_in(gap_key, own), (), MISSED) == 0)(month)

        def seen(years: int) -> Array:
            before = month - years * YEAR
            return (before >= 0) & ~gaps[jnp.maximum(before, 0)]

        asked = ((seen(1) | seen(2)) & (month < length))[1:]
        real = month[1:] < length
        return Example(
            inputs=jnp.where(real, jnp.where(gaps, GAP, values)[:-1], 0),
            targets=jnp.where(asked, values[1:], 0),
            weights=asked.astype(jnp.float32),
            length=jnp.asarray(length - 1, jnp.int32),
            segment_ids=real.astype(jnp.int32),
        )


config = Run(
    task=Season(),
    model=Transformer(d_model=32, num_layers=2, num_heads=4),
    optimizer=Optimizer(schedule="linear", warmup_steps=50),
    training=Training(steps=300, batch_size=16, log_every=100),
    evaluation=Evaluation(lengths=(24, 36, 48, 60, 72, 96), num_examples=128),
    learning_rates=(4e-3,),
)
