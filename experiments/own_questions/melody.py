"""Which encoding follows a melody that is longer than any in training?

    posenc verdict sinusoidal shaw --seeds 4 --once --on experiments/own_questions/melody.py
    posenc train experiments/own_questions/melody.py

Events of a duration and a pitch. A motif of 2 to 4 events is repeated, each time a whole tone higher, a whole tone
lower, or as it was; what comes next is asked from its third time on, where motif and interval can be known. Trained on
12 to 20 events, tested on up to 40.
"""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks.base import Example, RangedTask, Split, integers
from posenc_jax.encodings.interface.base import Array

DURATIONS, PITCHES = ("1/8", "1/4", "1/2", "1"), ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")
LONGEST_MOTIF, MOVES = 4, (-2, 0, 2)


@dataclasses.dataclass(frozen=True)
class Melody(RangedTask):
    """``length`` events ``d_0 p_0 d_1 p_1 ...`` with ``d_e = r_(e mod P)``, ``p_e = m_(e mod P) + s floor(e / P)``
    modulo 12; every next token is asked from event 2 P on.
    """

    min_length: int = 12
    max_length: int = 20

    name = "melody"
    paper = citation = ""
    metric = "accuracy"
    chance = (1 / len(DURATIONS) + 1 / len(PITCHES)) / 2  # as many durations are asked as pitches
    length_unit = "events"

    @property
    def least_length(self) -> int:
        return 2 * LONGEST_MOTIF + 1

    @property
    def vocab_size(self) -> int:
        return len(DURATIONS) + len(PITCHES)

    @property
    def token_names(self) -> tuple[str, ...]:
        return DURATIONS + PITCHES

    def width(self, max_length: int) -> int:
        """Two tokens an event, but for the last one, which only is a target."""
        return 2 * max_length - 1

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """A random motif and interval; training and test do not differ."""
        keys = jax.random.split(key, 4)
        motif = 2 + integers(keys[0], (), LONGEST_MOTIF - 1)
        interval = jnp.asarray(MOVES)[integers(keys[1], (), len(MOVES))]
        rhythm = integers(keys[2], (LONGEST_MOTIF,), len(DURATIONS))
        pitches = integers(keys[3], (LONGEST_MOTIF,), len(PITCHES))
        event = jnp.arange(2 * max_length) // 2
        place, turn = event % motif, event // motif
        pitch = len(DURATIONS) + (pitches[place] + interval * turn) % len(PITCHES)
        tokens = jnp.where(jnp.arange(2 * max_length) % 2 == 0, rhythm[place], pitch).astype(jnp.int32)
        asked = (event[1:] >= 2 * motif) & (event[1:] < length)
        real = jnp.arange(2 * max_length - 1) < 2 * length - 1
        return Example(
            inputs=jnp.where(real, tokens[:-1], 0),
            targets=jnp.where(asked, tokens[1:], 0),
            weights=asked.astype(jnp.float32),
            length=jnp.asarray(2 * length - 1, jnp.int32),
            segment_ids=real.astype(jnp.int32),
        )


config = Run(
    task=Melody(),
    model=Transformer(d_model=32, num_layers=2, num_heads=4),
    optimizer=Optimizer(schedule="linear", warmup_steps=50),
    training=Training(steps=1000, batch_size=16, log_every=200),
    evaluation=Evaluation(lengths=(12, 16, 20, 24, 28, 32, 40), num_examples=128),
    learning_rates=(4e-3,),
)
