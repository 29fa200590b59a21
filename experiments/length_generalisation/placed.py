"""An encoding that puts each sequence at a place of its own: a model is shown some positions and not others."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings import PositionalEncoding
from posenc_jax.encodings.shared.draws import draw_keys


@dataclasses.dataclass(frozen=True)
class Placed(PositionalEncoding):
    """``p -> p + start``, one of the ``starts`` for each sequence, drawn in training and in evaluation alike.

    `SHAPE` has each start below a largest one, and in training alone. A learned table after it has ``rows`` rows.
    """

    starts: tuple[int, ...] = (0,)
    rows: int = 96

    name = "placed"
    paper = citation = "nowhere"
    random = True
    integer_positions = True

    def mapped_max_len(self, max_len):
        return self.rows

    def map_positions(self, sequence, *, key, train):
        keys = draw_keys(key, sequence, "example", "Placed")
        number = jax.vmap(lambda k: jax.random.randint(k, (), 0, len(self.starts)))(keys)
        return jnp.asarray(sequence.positions) + jnp.asarray(self.starts)[number][:, None]
