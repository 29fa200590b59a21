"""Randomised positions: a sorted random subset of a longer range in place of 0, 1, 2, ..."""

from __future__ import annotations

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Key, PositionalEncoding, Sequence
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import Per, draw_keys


def random_positions(key: Key, length: Array, max_position: int) -> Array:
    """Uniformly random subsets of ``0 .. max_position-1``: the first ``length [B]`` of each row ``[B, max_position]``.

    Ascending; what follows has no meaning. Every candidate draws a 32-bit score; the ``length`` lowest are chosen, so
    all subsets are equally likely, but for equal scores at the threshold (probability max_position / 2**32), where one
    candidate too many is chosen and the largest position is left out. Scores know nothing of the length.
    """
    scores = jax.random.bits(key, (max_position,), jnp.uint32)
    threshold = jnp.sort(scores)[jnp.asarray(length) - 1]
    candidates = np.arange(max_position, dtype=np.int32)
    return jnp.sort(jnp.where(scores[None] <= threshold[:, None], candidates[None], max_position), axis=-1)


@dataclasses.dataclass(frozen=True)
class Randomized(PositionalEncoding):
    """Replaces positions 0 .. length-1 by ``length`` distinct sorted positions drawn from 0 .. max_position-1.

    For the elements after it in the slot, as in ``(Randomized(2048), RoPE())`` (Ruoss et al. 2023, section 3): trained
    on short sequences, a model has still seen the large positions and distances of long ones::

        p -> r_p,   r_0 < r_1 < ... < r_(length-1) uniform among all such subsets

    New positions are drawn in evaluation too, as in the paper. The draw depends on the key and on ``sequence.length``,
    never on the padded size, and acts position by position: prefill and decoding agree with a full pass, queries with
    keys. Positions outside 0 .. length-1 (padding) are clamped to that range. Positions must be integers.

    Fields:

    - ``max_position``: the paper's L, 2048 in its experiments.
    - ``per``: one draw for a whole "batch", as in the paper's code (rows of different lengths take the first so many
      candidates of it), or one for each "example", by ``example_ids`` or else by row; then the sequence must tell its
      batch size, by ``tokens`` at least.
    - ``redraw``: one draw per "forward" pass, as in the paper, or one per "layer".

    Raises ValueError in `check` for a model longer than max_position.

    >>> key, sequence = jax.random.key(0), Sequence.of_length(4)
    >>> positions = Randomized(100).map_positions(sequence, key=key, train=True)
    >>> positions.shape, bool((jnp.diff(positions) > 0).all())
    ((1, 4), True)
    """

    max_position: int = 2048
    per: Per = "batch"
    redraw: Literal["forward", "layer"] = "forward"

    name = "randomized"
    paper = "arXiv:2305.16843"
    citation = (
        "Ruoss, A., Deletang, G., Genewein, T., Grau-Moya, J., Csordas, R., Bennani, M., Legg, S., Veness, J. (2023). "
        "Randomized Positional Encodings Boost Length Generalization of Transformers. ACL 2023. arXiv:2305.16843."
    )
    methods = (Method("positions", "Randomized positions", "randomized|rope", "Ruoss et al. 2023", paper),)
    integer_positions = True
    random = True

    def check_fields(self) -> None:
        """Refuses an empty range."""
        if self.max_position < 1:
            raise ValueError(f"Randomized.max_position = {self.max_position} must be at least 1: the paper has 2048")

    def check(self, dims: Dims) -> None:
        """Refuses a model with more positions than there are to draw."""
        if dims.max_len > self.max_position:
            raise ValueError(
                f"Randomized.max_position = {self.max_position} has too few distinct positions for max_len = "
                f"{dims.max_len}: raise it to at least {dims.max_len}"
            )

    def mapped_max_len(self, max_len: int) -> int:
        """``max_position``: any position below it may occur."""
        return self.max_position

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """The drawn positions, int32, shaped like ``sequence.positions`` (a leading 1 becomes B where rows differ)."""
        keys = draw_keys(key, sequence, self.per, "Randomized")
        positions = jnp.asarray(sequence.positions)
        if not jnp.issubdtype(positions.dtype, jnp.integer):
            raise ValueError(
                f"Randomized maps integer positions, got {positions.dtype}: put it before what makes fractions of them"
            )
        length = jnp.clip(jnp.asarray(sequence.length), 1, self.max_position)
        if self.per == "example":
            draw = jax.vmap(lambda k, n: random_positions(k, n[None], self.max_position)[0])
            table = draw(keys, jnp.broadcast_to(length, keys.shape))
        else:
            table = random_positions(keys[0], length, self.max_position)
        rows = max(table.shape[0], positions.shape[0])
        table, positions, length = (jnp.broadcast_to(a, (rows, *a.shape[1:])) for a in (table, positions, length))
        inside = positions.reshape(rows, -1).clip(0, length[:, None] - 1)
        return jnp.take_along_axis(table, inside, axis=1).reshape(positions.shape)
