"""RoPE++: half of the heads read the imaginary part of RoPE's products (Liu et al. 2025)."""

import dataclasses

import jax.numpy as jnp

from posenc_jax.encodings.base import Array, Dims, Params, at_least_float32
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.rope import RoPE, WithRoPE
from posenc_jax.encodings.shared.rotation import turn


@dataclasses.dataclass(frozen=True)
class RoPEPlusPlus(WithRoPE):
    """RoPE in even heads; each odd head reads the queries of the head before it, turned back by a quarter turn, and so
    gets the imaginary part of the products whose real part is RoPE::

        z_ij = sum_n a_in conj(b_jn) exp(1j (i - j) theta_n) / sqrt(D)
        logits_ij = Re z_ij in heads 0, 2, ...,   Im z_ij in heads 1, 3, ..., of the queries of the head before

    (Liu et al. 2025, section 3 and the authors' code, ``OpenMOSS/rope_pp``, ``imag1``: RoPE++_EH, with as many heads as
    before.) a and b are query and key, the two coordinates of plane n as one complex number. Cosines of the distance
    become sines, which fall more slowly. Both kinds of heads read dimensions that do not turn in the same way.

    The pair shares its queries, so the model's queries of odd heads are ignored and their weights stay untrained; the
    authors project half as many instead. RoPE++_EC is this with num_heads doubled. In the authors' code a pair also
    shares key and value: give the model at most half as many key heads as heads.

    Attributes:
      rope: the rotation, any of `RoPE`'s.

    Raises:
      ValueError: for an odd number of heads, in `check` and where a device has one; and in `check` as `RoPE`.
    """

    rope: RoPE = RoPE()  # noqa: RUF009  (frozen)

    name = "rope_pp"
    paper = "arXiv:2512.07525"
    citation = """@inproceedings{liu2026beyond, author = {Liu, X. and Song, Y. and Liu, Z. and Huang, Z. and Guo, Q. and
        Liu, Z. and Lian, S. and He, Z. and Qiu, X.}, title = {{Beyond Real: Imaginary
        Extension of Rotary Position Embeddings for Long-Context LLMs}}, booktitle = {ICLR}, year = {2026},
        eprint = {2512.07525}}"""
    methods = (Method("rotary", "RoPE++, imaginary heads", "rope_pp", "Liu et al. 2025"),)
    shift_invariant = True

    def check(self, dims: Dims) -> None:
        super().check(dims)
        _check_pairs(dims.num_heads)

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        _check_pairs(q.shape[1])
        real = self.rope.encode_queries(params, q[:, ::2], positions, length)
        planes = self.rope.rotated_dim(q.shape[-1]) // 2
        sine = jnp.full((1, 1, 1, planes), -1, at_least_float32(q))
        imaginary = turn(real, sine, jnp.zeros_like(sine), self.rope.layout)
        return jnp.stack([real, imaginary], axis=2).reshape(q.shape)

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        return self.rope.encode_keys(params, k, positions, length)


def _check_pairs(num_heads: int) -> None:
    if num_heads % 2:
        raise ValueError(
            f"RoPEPlusPlus pairs heads, a real and an imaginary one, and num_heads = {num_heads} is odd: choose an "
            "even number, on every device"
        )
