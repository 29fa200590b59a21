"""PoSE: positions with a gap, to train on short texts for long ones."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Key, PositionalEncoding, Sequence, by_token
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.draws import draw_keys
from posenc_jax.encodings.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class PoSE(PositionalEncoding):
    """Positional skip-wise training: a gap in the positions, at a random index and of a random width::

        p -> p           for p < c        c ~ U{1, ..., (n + 1) div 2}      the length of the first of two chunks
        p -> p + u       for p >= c       u ~ U{0, ..., target_length - n}  the skip

    in training, for each example anew, with n its length; positions stay as they are in evaluation. For the elements
    after it in the slot, as in ``(PoSE(4096), Interpolated(8), RoPE())`` (Zhu et al. 2023, section 3.2, equations 3 and
    4 with N = 2 chunks and u_0 = 0, as in all main experiments): distances up to the target length occur in training at
    the cost of the short one.

    The range of c is that of the authors' code (the paper only says that it varies). The paper also skips text between
    the chunks, which is a matter of the data. Sequences packed into one row share one draw, each with its own n.

    Attributes:
      target_length: the paper's L_t. An example that is not shorter has no gap.

    >>> key, sequence = jax.random.key(0), Sequence.of_length(4, example_ids=jnp.arange(2))
    >>> PoSE(100).map_positions(sequence, key=key, train=True).shape
    (2, 4)
    """

    target_length: int

    name = "pose"
    paper = "arXiv:2309.10400"
    citation = """@inproceedings{zhu2023pose, author = {Zhu, D. and Yang, N. and Wang, L. and Song, Y. and Wu, W. and
        Wei, F. and Li, S.}, title = {{PoSE: Efficient Context Window Extension of LLMs via Positional Skip-wise
        Training}}, booktitle = {ICLR 2024}, year = {2023}, eprint = {2309.10400}}"""
    methods = (Method("positions", "PoSE", "pose(target_length=4096)|rope", "Zhu et al. 2023", use="s"),)
    random = True
    limits = limited(target_length=at_least(1, ": the length to extend to"))

    def mapped_max_len(self, max_len: int) -> int:
        return max(max_len, self.target_length)

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """Positions in their own type, in training ``[B, S]``."""
        positions = sequence.positions
        if not train:
            return positions
        keys = draw_keys(key, sequence, "example", "PoSE")
        length = by_token(jnp.asarray(sequence.length))
        rows = max(keys.shape[0], length.shape[0])
        draw = jax.vmap(jax.vmap(self._draw, (None, 0)))
        cut, skip = draw(jnp.broadcast_to(keys, (rows,)), jnp.broadcast_to(length, (rows, length.shape[1])))
        positions = jnp.asarray(positions)
        behind = positions >= cut.astype(positions.dtype)
        return positions + jnp.where(behind, skip, 0).astype(positions.dtype)

    def _draw(self, key: Key, length: Array) -> tuple[Array, Array]:
        """Length of the first chunk and width of the gap."""
        for_cut, for_skip = jax.random.split(key)
        half = jnp.maximum((length + 1) // 2, 1)
        room = jnp.maximum(self.target_length - length, 0)
        cut = jax.random.randint(for_cut, (), 1, half + 1, jnp.int32)
        return cut, jax.random.randint(for_skip, (), 0, room + 1, jnp.int32)
