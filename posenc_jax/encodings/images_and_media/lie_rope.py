"""Rotations of several axes by learned generators in blocks: LieRE, and ComRoPE, whose generators commute."""

import dataclasses
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import at_least, limited, of_field
from posenc_jax.encodings.shared.draws import normals
from posenc_jax.encodings.shared.rotation import Rotary

SQUARINGS = 24


def exponential(a: Array) -> Array:
    """The exponential of matrices ``[..., n, n]``: the series of ``a / 2^s``, squared s times, with s such that sums of
    rows are at most 1/2; NaN where s would exceed 24. It solves no systems, as `jax.scipy.linalg.expm` does.
    """
    norm = jax.lax.stop_gradient(jnp.abs(a).sum(axis=-1).max(axis=-1))[..., None, None]
    count = jnp.maximum(jnp.frexp(norm)[1] + 1, 0)
    most = count.max()  # steps that no matrix needs cost nothing
    small = a * jnp.exp2(-count.astype(a.dtype))
    total = identity = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    for n in range(13 if a.dtype == jnp.float64 else 8, 0, -1):
        total = identity + jnp.matmul(small, total, precision="highest") / n

    def squared(x: jax.Array, step: jax.Array) -> jax.Array:
        return jnp.where(step < count, jnp.matmul(x, x, precision="highest"), x)

    def square(x: jax.Array, step: jax.Array) -> tuple[jax.Array, None]:
        return jax.lax.cond(step < most, squared, lambda x, step: x, x, step), None

    total, _ = jax.lax.scan(square, total, jnp.arange(SQUARINGS, dtype=jnp.int32))
    return jnp.where(count > SQUARINGS, jnp.nan, total)


def check_blocks(encoding: "LieRE | ComRoPE", dims: Dims, multiple: int) -> None:
    """Refuses (ValueError) a head_dim that does not make whole blocks."""
    if dims.head_dim % multiple:
        raise ValueError(
            f"{encoding} turns blocks of {encoding.block} dimensions, so head_dim = {dims.head_dim} must be a multiple "
            f"of {multiple}"
        )


@dataclasses.dataclass(frozen=True)
class LieRE(Rotary):
    """Rotates blocks of a head by the exponential of a skew matrix that is linear in the position::

        R(p) = exp( sum over axes a of p_a G_a ),   G_a = U_a - U_a^T,   U_a strictly upper triangular, learned

    (Ostmeier et al. 2024, section 4, equations 4 to 6.) The G_a need not commute: then the product R(p_i)^T R(p_j) is
    no function of p_j - p_i, and nothing is shift invariant. Positions ``[#B, S, axes]``, of the authors' code 0 .. 1
    over an image of the size of training, as `ImagePositions` to "unit". Each token costs a matrix exponential of each
    block, far more than `MixedRoPE`.

    Attributes:
      axes: the number of axes of the positions.
      block: the generators' size: 64, whole heads, in LieRE_64, 8 in LieRE_8; blocks of 2 are mixed RoPE.

    Parameters, for each layer and key head: ``generators [Hkv, axes, D/block, block, block]``, of which what is above
    the diagonal is read, U(0, 2 pi) as in the authors' code (StanfordMIMI/LieRE). With grouped-query heads the queries
    of a group share them.

    Raises:
      ValueError: in `check`, if block does not divide head_dim.
    """

    axes: int = 2
    block: int = 8

    name = "liere"
    paper = "arXiv:2406.10322"
    citation = """@inproceedings{ostmeier2025liere, author = {Ostmeier, S. and Axelrod, B. and Varma, M. and Moseley,
        M. and Chaudhari, A. and Langlotz, C.}, title = {{LieRE: Lie Rotational Positional Encodings}},
        booktitle = {ICML}, year = {2025}, eprint = {2406.10322}}"""
    methods = (
        Method(
            "rotary",
            "LieRE",
            "grid(width=8)|image_positions(sizes=(8, 8), to='unit')|liere",
            "Ostmeier et al. 2024",
            note="blocks of 8 dimensions here, up to the whole head of 64 in the paper",
            use="s",
        ),
    )
    per_layer = True
    head_axes = (("generators", 0),)
    by_key_head = True
    limits = limited(axes=at_least(1, ": 2 for images, 3 for films"), block=at_least(2, ": the paper has 8 and 64"))
    position_axes = of_field("axes")

    def check(self, dims: Dims) -> None:
        check_blocks(self, dims, self.block)

    def init(self, key: Key, dims: Dims) -> Params:
        shape = (dims.num_kv_heads, self.axes, dims.head_dim // self.block, self.block, self.block)
        return {"generators": jax.random.uniform(key, shape, jnp.float32, 0, 2 * np.pi)}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        raw = jnp.asarray(params["generators"])
        dtype = at_least_float32(x, raw)
        upper = jnp.triu(raw.astype(dtype), 1)
        skew = upper - jnp.swapaxes(upper, -1, -2)
        exponents = jnp.einsum("bsa,hanij->bhsnij", jnp.asarray(positions).astype(dtype), skew, precision="highest")
        wide = jnp.asarray(x).astype(dtype)
        rotations = exponential(exponents)
        rotations = jnp.broadcast_to(rotations, (wide.shape[0], *rotations.shape[1:]))
        blocks = wide.reshape(wide.shape[0], skew.shape[0], -1, wide.shape[2], skew.shape[2], self.block)
        turned = jnp.einsum("bhsnij,bhgsnj->bhgsni", rotations, blocks, precision="highest")
        return turned.reshape(x.shape).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class ComRoPE(Rotary):
    """Rotates blocks of a head by generators that commute, so that logits depend on position differences only::

        R(p) = exp( sum over axes a of p_a A_a ),   A_a A_b = A_b A_a

    (Yu et al. 2025, sections 3 and 4.) Either of the paper's two sufficient conditions makes them, block by block, from
    S_n = P_n - P_n^T, P_n learned::

        "linear"       A_a = diag_n( m_(a,n) S_n )              ComRoPE-LD, linearly dependent generators
        "partition"    A_a = diag_n( [n mod axes = a] S_n )     ComRoPE-AP, each block has an axis of its own

    Positions ``[#B, S, axes]``; those of the authors' code (Longin-Yu/ComRoPE) are (p + 1/2) / n, disturbed in
    training. The exponential of an angle times a fixed S_n comes from the eigenvectors of S_n, once for all tokens.

    Attributes:
      condition: "linear" or "partition", as above.
      axes: the number of axes of the positions.
      block: the generators' size, 8 in the paper's best models.

    Parameters for each layer and key head: ``generators [Hkv, D/block, block, block]``, P_n, from N(0, 1);
    ``multipliers [axes, D/block]``, m, from N(0, 1), shared by the heads, for "linear" alone: as in that code.

    Raises:
      ValueError: in `check`, if blocks do not fill head_dim, or for "partition" do not divide among the axes.
    """

    condition: Literal["linear", "partition"] = "linear"
    axes: int = 2
    block: int = 8

    name = "comrope"
    paper = "arXiv:2506.03737"
    citation = """@inproceedings{yu2025comrope, author = {Yu, H. and Jiang, T. and Jia, S. and Yan, S. and Liu, S. and
        Qian, H. and Li, G. and Dong, S. and Zhang, H. and Yuan, C.}, title = {{ComRoPE: Scalable and Robust Rotary
        Position Embedding Parameterized by Trainable Commuting Angle Matrices}}, booktitle = {CVPR}, year = {2025},
        eprint = {2506.03737}}"""
    methods = (
        Method("rotary", "ComRoPE-LD", "grid(width=8)|comrope", "Yu et al. 2025"),
        Method(
            "rotary",
            "ComRoPE-AP",
            "grid(width=8)|comrope(condition='partition', block=4)",
            "Yu et al. 2025",
            note="blocks of 4 dimensions here, 8 in the paper",
        ),
    )
    shift_invariant = True
    per_layer = True
    head_axes = (("generators", 0),)
    by_key_head = True
    limits = limited(axes=at_least(1, ": 2 for images, 3 for films"), block=at_least(2, ": the paper has 8"))
    position_axes = of_field("axes")

    def check(self, dims: Dims) -> None:
        check_blocks(self, dims, self.block * (self.axes if self.condition == "partition" else 1))

    def init(self, key: Key, dims: Dims) -> Params:
        blocks = dims.head_dim // self.block
        shapes: dict[str, tuple[int, ...]] = {"generators": (dims.num_kv_heads, blocks, self.block, self.block)}
        if self.condition == "linear":
            shapes["multipliers"] = (self.axes, blocks)
        return normals(key, shapes, 1.0)

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        raw = jnp.asarray(params["generators"])
        dtype = at_least_float32(x, raw)
        skew = raw.astype(dtype) - jnp.swapaxes(raw.astype(dtype), -1, -2)
        # A skew matrix times i is Hermitian: exp(t S) = V exp(-i t lambda) V*.
        values, vectors = jnp.linalg.eigh(jax.lax.complex(jnp.zeros_like(skew), skew))
        if self.condition == "linear":
            multipliers = jnp.asarray(params["multipliers"]).astype(dtype)
        else:
            multipliers = jnp.asarray(np.arange(skew.shape[1]) % self.axes == np.arange(self.axes)[:, None], dtype)
        steps = jnp.einsum("bsa,an->bsn", jnp.asarray(positions).astype(dtype), multipliers, precision="highest")
        angles = steps[:, None, :, :, None] * values[None, :, None]
        phases = jax.lax.complex(jnp.cos(angles), -jnp.sin(angles))[:, :, None]
        wide = jnp.asarray(x).astype(dtype)
        blocks = wide.reshape(wide.shape[0], skew.shape[0], -1, wide.shape[2], skew.shape[1], self.block)
        modes = jnp.einsum("hnik,bhgsni->bhgsnk", vectors.conj(), blocks.astype(vectors.dtype), precision="highest")
        turned = jnp.einsum("hnik,bhgsnk->bhgsni", vectors, modes * phases, precision="highest").real
        return turned.reshape(x.shape).astype(x.dtype)
