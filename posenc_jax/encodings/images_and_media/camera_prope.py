"""PRoPE: tokens of images seen by several cameras, related by the projections of these (Li et al. 2025)."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import check_planes, rotate


@dataclasses.dataclass(frozen=True)
class CameraPRoPE(PositionalEncoding):
    """Queries, keys, values and outputs read through the cameras of their tokens, and turned by places in the image::

        q'_i = diag(P_i^T, R(x_i), R(y_i)) q_i,   k'_j = diag(P_j^-1, R(x_j), R(y_j)) k_j,   v'_j as k'_j

        o'_i = diag(P_i, R(-x_i), R(-y_i)) o_i

    so that products and outputs depend on cameras through P_i P_j^-1 alone: no choice of the world's coordinates counts
    (Li et al. 2025, PRoPE, by the authors' code, ``liruilong940607/prope``). P = [K, 0; 0, 1] T is the
    projection of a camera, 4 x 4, from T, which leads from the world to the camera, and the intrinsics K, divided by
    width and height so that the image is 1 wide and high around the origin; K = 1 is GTA (Miyato et al. 2024). P acts
    on each four dimensions of the first half of a head, R on a quarter for column and row each, the opposite way of
    `RoPE` as in that code.

    Positions ``[#B, S, 14]``: the first three rows of P, row by row (the last one is 0, 0, 0, 1), column x and row y of
    the token, as from `Attributes`. A matrix without an inverse, as zeros of padding, gives keys and values no share of
    the cameras.

    Attributes:
      base: that of the frequencies of x and y, 100 in the authors' code.

    Raises:
      ValueError: in `check`, if head_dim is no multiple of 8.
    """

    base: float = 100.0

    name = "camera_prope"
    paper = "arXiv:2507.10496"
    citation = """@inproceedings{li2025cameras, author = {Li, R. and Yi, B. and Liu, J. and Gao, H. and Ma, Y. and
        Kanazawa, A.}, title = {{Cameras as Relative Positional Encoding}}, booktitle = {NeurIPS}, year = {2025},
        eprint = {2507.10496}}"""
    methods = (
        Method(
            "rotary", "Cameras as positions (PRoPE)", "attributes(count=14)|camera_prope", "Li et al. 2025", use="s"
        ),
    )
    position_axes = 14  # three rows of a projection, column and row of a token
    limits = limited(base=above(0, ": the authors' code has 100.0"))

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, multiple=8)

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        return self._seen(q, positions, "transposed")

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        return self._seen(k, positions, "inverse")

    def encode_values(self, params: Params, v: Array, positions: Array, length: Array) -> Array:
        return self._seen(v, positions, "inverse")

    def encode_outputs(self, params: Params, out: Array, positions: Array, length: Array) -> Array:
        return self._seen(out, positions, "plain")

    def _seen(self, x: Array, positions: Array, form: str) -> Array:
        dtype, half = at_least_float32(x), x.shape[-1] // 2
        numbers = jnp.asarray(positions).astype(dtype)[:, None]
        rows: Array = numbers[..., :12].reshape(*numbers.shape[:3], 3, 4)
        if form == "inverse":
            rows = _inverse(rows)
        last = jnp.broadcast_to(np.array([0, 0, 0, 1], dtype), (*rows.shape[:3], 1, 4))
        matrix = jnp.concatenate([rows, last], axis=-2)
        fours = x[..., :half].astype(dtype).reshape(*x.shape[:3], half // 4, 4)
        axes = "bhsgi,bzsij->bhsgj" if form == "transposed" else "bhsgj,bzsij->bhsgi"
        seen = jnp.einsum(axes, fours, jnp.broadcast_to(matrix, (x.shape[0], *matrix.shape[1:])), precision="highest")
        parts: list[Array] = [seen.reshape(*x.shape[:3], half).astype(x.dtype)]
        frequencies, sign = vaswani_frequencies(half // 2, self.base), 1 if form == "plain" else -1
        for place, part in enumerate(jnp.split(x[..., half:], 2, axis=-1)):
            parts.append(rotate(part, sign * numbers[..., 12 + place], frequencies, "half"))
        return jnp.concatenate(parts, axis=-1)


def _inverse(rows: Array) -> Array:
    """``[..., 3, 4]``: the first rows of the inverse of ``[rows; 0, 0, 0, 1]``; zeros where there is none."""
    a, b, c = (rows[..., n, :3] for n in range(3))
    adjugate = jnp.stack([jnp.cross(b, c), jnp.cross(c, a), jnp.cross(a, b)], axis=-1)
    determinant = (a * jnp.cross(b, c)).sum(axis=-1)[..., None, None]
    turned = jnp.where(determinant == 0, 0, adjugate / jnp.where(determinant == 0, 1, determinant))
    moved = -jnp.einsum("...ij,...j->...i", turned, rows[..., 3], precision="highest")
    return jnp.concatenate([turned, moved[..., None]], axis=-1)
