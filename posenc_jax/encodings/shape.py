"""SHAPE: absolute positions shifted by a random offset in training."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import draw_keys
from posenc_jax.encodings.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class SHAPE(PositionalEncoding):
    """Shifts all positions of a sequence by one random offset, for the elements after it in the slot::

        p -> p + u,   u ~ U{0, ..., max_shift - 1} in training, one draw for each sequence

    as in ``(SHAPE(500), Sinusoidal())`` (Kiyono et al. 2021): the model cannot rely on absolute positions
    and learns from differences. Encoder and decoder draw each their own offset; sequences packed into one row share
    one.

    Attributes:
      max_shift: the paper's K, 500 in most of its experiments.
      evaluation: the offset outside training. "max_shift" is K itself, as in the authors' code, whose training offsets
        0 .. K-1 stop one short of it; "none" leaves positions as they are.

    A learned table after it needs ``max_shift`` more rows, which `mapped_max_len` tells it.

    >>> SHAPE(10).map_positions(Sequence.of_length(4), key=None, train=False).tolist()
    [[10, 11, 12, 13]]
    """

    max_shift: int = 500
    evaluation: Literal["max_shift", "none"] = "max_shift"

    name = "shape"
    paper = "arXiv:2109.05644"
    citation = """@inproceedings{kiyono2021shape, author = {Kiyono, S. and Kobayashi, S. and Suzuki, J. and Inui,
        K.}, title = {{SHAPE: Shifted Absolute Position Embedding for Transformers}}, booktitle = {EMNLP},
        year = {2021}, eprint = {2109.05644}}"""
    methods = (Method("positions", "SHAPE", "shape|sinusoidal", "Kiyono et al. 2021"),)
    shift_invariant = True
    random = True
    position_axes = "any"
    limits = limited(
        max_shift=at_least(1, ": the paper has 500; for positions without a shift leave SHAPE out of the slot")
    )

    def mapped_max_len(self, max_len: int) -> int:
        return max_len + (self.max_shift if self.evaluation == "max_shift" else self.max_shift - 1)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """The positions plus the offset; in training ``[B, S]``. In evaluation known positions stay known."""
        positions = sequence.positions
        if not train:
            return positions + self.max_shift if self.evaluation == "max_shift" else positions
        keys = draw_keys(key, sequence, "example", "SHAPE")
        offset = jax.vmap(lambda k: jax.random.randint(k, (), 0, self.max_shift, jnp.int32))(keys)
        positions = jnp.asarray(positions)
        return positions + offset.reshape(-1, *(1,) * (positions.ndim - 1)).astype(positions.dtype)
