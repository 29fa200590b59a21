"""Absolute positions changed at random in training: CAPE and SHAPE jitter, shift and stretch, PoSE leaves a gap."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Key, PositionalEncoding, Sequence, at_least_float32, by_token
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.encodings.shared.draws import draw_keys


@dataclasses.dataclass(frozen=True)
class CAPE(PositionalEncoding):
    """Continuous augmented positions, for the elements after it in the slot::

        p_i -> (p_i + D + e_i) * exp(s),   D ~ U(-max_global_shift, max_global_shift)    one for each sequence
                                           e_i ~ U(-max_local_shift, max_local_shift)    one for each token
                                           s ~ U(-ln max_global_scaling, ln max_global_scaling)    one for each sequence

    in training, and p_i in evaluation (Likhomanenko et al. 2021). The paper's encoding of text and speech is
    ``(CAPE(), Sinusoidal())``: the sinusoidal vectors of these fractional positions.

    A token's jitter is a function of the key and of its integer position, whatever the padding and the cuts of a cache.
    The paper's common shift of source and target, and its stretch of the target to the length of the source, are not
    done: every stack draws its own. Sequences packed into one row share the two global draws.

    The formula is that of the re-implementation gcambara/cape, and the defaults of the fields are its preset for text.
    Its padding test keeps the first padded token in the mean; here the mean is that of ``length`` positions. For
    seconds in place of frames put `Interpolated` behind. Positions can be negative: a learned table after it must name
    a policy (``Learned(beyond="clamp")``).

    Attributes:
      max_global_shift: the largest size of D.
      max_local_shift: the largest size of e_i; up to 0.5 the order of tokens is kept.
      max_global_scaling: the largest factor exp(s); the smallest is its inverse.
      zero_mean: the mean position, (length - 1) / 2 for positions 0 .. length-1, is subtracted first, in evaluation
        too; so the positions of a longer sequence have a smaller mean magnitude than without it. Called normalize in
        gcambara/cape.

    >>> CAPE(zero_mean=True).map_positions(Sequence.of_length(4), key=None, train=False).tolist()
    [[-1.5, -0.5, 0.5, 1.5]]
    """

    max_global_shift: float = 5.0
    max_local_shift: float = 0.5
    max_global_scaling: float = 1.03
    zero_mean: bool = False

    name = "cape"
    paper = "arXiv:2106.03143"
    citation = """@inproceedings{likhomanenko2021cape, author = {Likhomanenko, T. and Xu, Q. and Synnaeve, G. and
        Collobert, R. and Rogozhnikov, A.}, title = {{CAPE: Encoding Relative Positions with Continuous Augmented
        Positional Embeddings}}, booktitle = {NeurIPS}, year = {2021}, eprint = {2106.03143}}"""
    methods = (Method("positions", "CAPE", "cape|sinusoidal", "Likhomanenko et al. 2021", use="s"),)
    integer_positions = True
    random = True
    limits = limited(
        max_global_shift=at_least(0, ": use 0 for no shift"),
        max_local_shift=at_least(0, ": use 0 for no shift"),
        max_global_scaling=at_least(
            1, ": positions are scaled by 1/max_global_scaling to max_global_scaling; use 1 for no scaling"
        ),
    )

    def mapped_max_len(self, max_len: int) -> int:
        """One more than the largest position in training, rounded up."""
        largest = max_len - 1 + self.max_global_shift + self.max_local_shift
        return math.ceil(largest * self.max_global_scaling) + 1

    def map_positions(self, sequence: Sequence, *, key: Key | None, train: bool) -> Array:
        """Fractional positions, in training ``[B, S]``; in evaluation without ``zero_mean`` those given."""
        index = sequence.positions
        if not jnp.issubdtype(index.dtype, jnp.integer):
            raise ValueError(
                f"CAPE draws by integer positions, got {index.dtype}: put it before what makes fractions of them"
            )
        positions = _centred(index, sequence.length) if self.zero_mean else index
        if not train:
            return positions
        keys = draw_keys(key, sequence, "example", "CAPE")
        index, positions = jnp.asarray(index), jnp.asarray(positions)

        def symmetric(key: Key, limit: float) -> Array:
            return jax.random.uniform(key, (), jnp.float32, -limit, limit)

        def draw(key: Key, row: Array) -> tuple[Array, Array, Array]:
            shift, scaling, local = jax.random.split(key, 3)
            jitter = jax.vmap(lambda p: symmetric(jax.random.fold_in(local, p), self.max_local_shift))(row)
            return (
                symmetric(shift, self.max_global_shift),
                symmetric(scaling, math.log(self.max_global_scaling)),
                jitter,
            )

        rows = max(keys.shape[0], index.shape[0])
        shift, log_scale, jitter = jax.vmap(draw)(
            jnp.broadcast_to(keys, (rows,)), jnp.broadcast_to(index, (rows, index.shape[1]))
        )
        dtype = at_least_float32(positions)
        moved = positions.astype(dtype) + shift[:, None].astype(dtype) + jitter.astype(dtype)
        return moved * jnp.exp(log_scale)[:, None].astype(dtype)


def _centred(positions: Array, length: Array) -> Array:
    """Positions ``[#B, S]`` less the mean of ``0 .. length-1``."""
    known = isinstance(positions, np.ndarray) and isinstance(length, np.ndarray)
    xp, dtype = (np, np.float64) if known else (jnp, at_least_float32(positions))
    return xp.asarray(positions).astype(dtype) - (xp.asarray(by_token(length)).astype(dtype) - 1) / 2


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
