"""Randomised positions: a sorted random subset of a longer range in place of 0, 1, 2, ..."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Key, PositionalEncoding, Sequence, by_token
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.draws import Per, draw_keys


def random_positions(key: Key, length: Array, index: Array, max_position: int) -> Array:
    """Number ``index``, from 0, of a uniformly random ascending subset of ``0 .. max_position-1`` with ``length``
    members; int32 of the shape that both broadcast to, ``0 <= index < length <= max_position``.

    Every candidate draws a 32-bit score; the ``length`` lowest are chosen (of equal ones the smaller position, with
    probability max_position / 2**32), so all subsets are equally likely. Scores know nothing of the length: one key
    gives nested subsets. So this is the index-th smallest of the first ``length`` candidates in the order of scores,
    found bit by bit for every pair of length and index (as in the wavelet matrix of Claude and Navarro 2012).
    """
    candidates = jnp.argsort(jax.random.bits(key, (max_position,), jnp.uint32)).astype(jnp.int32)
    indices, bits = jnp.arange(max_position, dtype=jnp.int32), (max_position - 1).bit_length()
    high, index = (a.astype(jnp.int32) for a in jnp.broadcast_arrays(length, index))
    nothing = jnp.zeros_like(index)

    def narrowed(step: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
        """The state after sorting by one more bit, highest first; ``low .. high-1`` share the bits found so far."""
        candidates, low, high, index, found = state
        bit = bits - 1 - step
        one = candidates >> bit & 1
        zeros = jnp.pad(jnp.cumsum(1 - one, dtype=jnp.int32), (1, 0))  # how many stand before each index
        smaller = zeros[high] - zeros[low]
        is_one = index >= smaller
        moved = jnp.zeros_like(candidates).at[jnp.where(one == 1, zeros[-1] + indices - zeros[:-1], zeros[:-1])]
        return (
            moved.set(candidates),
            jnp.where(is_one, zeros[-1] + low - zeros[low], zeros[low]),
            jnp.where(is_one, zeros[-1] + high - zeros[high], zeros[high]),
            jnp.where(is_one, index - smaller, index),
            found | jnp.where(is_one, 1 << bit, 0),
        )

    return jax.lax.fori_loop(0, bits, narrowed, (candidates, nothing, high, index, nothing))[-1]


@dataclasses.dataclass(frozen=True)
class Randomized(PositionalEncoding):
    """Replaces positions 0 .. length-1 by ``length`` distinct sorted positions drawn from 0 .. max_position-1.

    For the elements after it in the slot, as in ``(Randomized(2048), RoPE())`` (Ruoss et al. 2023, section 3): trained
    on short sequences, a model has still seen the large positions and distances of long ones::

        p -> r_p,   r_0 < r_1 < ... < r_(length-1) uniform among all such subsets

    New positions are drawn in evaluation too, as in the paper. The draw depends on the key and on ``sequence.length``,
    never on the padded size or on what else is packed into the row, and acts position by position: prefill and
    decoding agree with a full pass, queries with keys. Positions outside 0 .. length-1 (padding) are clamped to
    that range. Positions must be integers.

    Attributes:
      max_position: the paper's L, 2048 in its experiments.
      per: one draw for a whole "batch", as in the paper's code (rows of different lengths take the first so many
        candidates of it), or one for each "example", by ``example_ids`` or else by row; then the sequence must tell its
        batch size, by ``tokens`` at least.
      redraw: one draw per "forward" pass, as in the paper, or one per "layer".

    Raises:
      ValueError: in `check`, for a model longer than max_position.

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
    citation = """@inproceedings{ruoss2023randomized, author = {Ruoss, A. and Deletang, G. and Genewein, T. and
        Grau-Moya, J. and Csordas, R. and Bennani, M. and Legg, S. and Veness, J.}, title = {{Randomized Positional
        Encodings Boost Length Generalization of Transformers}}, booktitle = {ACL}, year = {2023},
        eprint = {2305.16843}}"""
    methods = (Method("positions", "Randomized positions", "randomized|rope", "Ruoss et al. 2023", use="s"),)
    integer_positions = True
    random = True
    limits = limited(max_position=at_least(1, ": the paper has 2048"))

    def check(self, dims: Dims) -> None:
        if dims.max_len > self.max_position:
            raise ValueError(
                f"Randomized.max_position = {self.max_position} has too few distinct positions for max_len = "
                f"{dims.max_len}: raise it to at least {dims.max_len}"
            )

    def mapped_max_len(self, max_len: int) -> int:
        """``max_position``: any position below it may occur."""
        return self.max_position

    def num_candidates(self, rows: int) -> int:
        """``max_position`` in each draw: each has a score."""
        return self.max_position * (rows if self.per == "example" else 1)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """The drawn positions, int32, shaped like ``sequence.positions`` (a leading 1 becomes B where rows differ)."""
        keys = draw_keys(key, sequence, self.per, "Randomized")
        positions = jnp.asarray(sequence.positions)
        if not jnp.issubdtype(positions.dtype, jnp.integer):
            raise ValueError(
                f"Randomized maps integer positions, got {positions.dtype}: put it before what makes fractions of them"
            )
        length = by_token(jnp.clip(jnp.asarray(sequence.length), 1, self.max_position))
        length = length.reshape(*length.shape, *(1,) * (positions.ndim - 2))  # beside positions of several axes
        inside = positions.clip(0, length - 1)
        if self.per == "batch":
            return random_positions(keys[0], length, inside, self.max_position)
        rows = max(keys.shape[0], inside.shape[0])
        keys, length, inside = (jnp.broadcast_to(a, (rows, *a.shape[1:])) for a in (keys, length, inside))
        return jax.vmap(lambda k, n, i: random_positions(k, n, i, self.max_position))(keys, length, inside)
