"""Rotary position embedding: queries and keys turned by an angle proportional to their position; and RoPE++, of which
half of the heads read the imaginary part of the products (Liu et al. 2025).
"""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Dims, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, limited
from posenc_jax.encodings.rotary.rope_scaling import RoPEScaling
from posenc_jax.encodings.shared.phase import Turns, sincos_of_turns, turns, vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, turn


def half_permutation(head_dim: int, rotary_dim: int | None = None) -> np.ndarray:
    """The order P of dimensions with ``half(x[P]) == interleaved(x)[P]``: from the interleaved to the half layout.

    Applied to the columns of each head of W_q and W_k (and to their biases) it converts a model from one layout to the
    other; ``np.argsort(P)`` converts back. Dimensions from ``rotary_dim`` on stay where they are.

    >>> half_permutation(8, 6).tolist()
    [0, 2, 4, 1, 3, 5, 6, 7]
    """
    rotary_dim = head_dim if rotary_dim is None else rotary_dim
    return np.concatenate([np.arange(0, rotary_dim, 2), np.arange(1, rotary_dim, 2), np.arange(rotary_dim, head_dim)])


def convert_layout(weight: Array, head_dim: int, to: Layout, rotary_dim: int | None = None) -> Array:
    """The projection to queries or keys, ``[..., H * D]`` or ``[..., H, D]``, or its bias, in the other layout.

    A model whose W_q, W_k and their biases are all converted gives the same logits under `RoPE` in layout ``to``, with
    any scaling. Values and the output projection stay as they are. ``rotary_dim``: see `half_permutation`.

    Raises:
      ValueError: if the last axis does not hold whole heads.
    """
    if weight.shape[-1] % head_dim:
        raise ValueError(
            f"the last axis of a weight of shape {weight.shape} is no multiple of head_dim = {head_dim}: it must hold "
            "whole heads, so transpose weights that have outputs first"
        )
    order = half_permutation(head_dim, rotary_dim)
    order = order if to == "half" else np.argsort(order)
    return weight.reshape(*weight.shape[:-1], -1, head_dim)[..., order].reshape(weight.shape)


@dataclasses.dataclass(frozen=True)
class RoPE(Rotary):
    """Rotates queries and keys by their positions, so that logits depend on position differences only::

        q'_i = R(i) q_i,  k'_j = R(j) k_j,  q'_i . k'_j = q_i . R(j - i) k_j,  R(p) turning plane k by p base^(-2k/r)

    (Su et al. 2021, section 3.2, equations 14 to 16).

    Attributes:
      base: 10000 in the paper.
      layout: which dimensions make a plane, see `rotate`. "interleaved" is the paper's (also GPT-J's and Meta Llama's),
        "half" that of GPT-NeoX and Hugging Face. Models of the two are equal up to `half_permutation` of their weights;
        a model read in the wrong layout gives plausible nonsense.
      rotary_dim: the r first dimensions of each head are rotated, the others are not: a number of dimensions, or a
        fraction of head_dim below 1 (rounded down); None is all. The frequencies are spread over r, as in GPT-NeoX and
        Hugging Face.
      scaling: other frequencies, and a magnitude for cosine and sine, as in ``rope(scaling=yarn(factor=8,
        original_length=4096))``: the classes of `posenc_jax.encodings.SCALINGS` (modules `rope_scaling`, `yarn`,
        `rope_selection` and, of this project, `frequency_designs`). Those that depend on the length take the real
        length of the whole sequence; keys are encoded at use, so a cache knows no old base.

    Raises:
      ValueError: in `check`, if r is odd or exceeds head_dim, or if the scaling cannot serve r dimensions.

    >>> q = np.array([[[[1.0, 0.0]]]], np.float32)
    >>> RoPE().encode_queries({}, q, np.array([[1]]), np.array([1])).round(4).tolist()[0][0]
    [[0.5403000116348267, 0.8414999842643738]]
    """

    base: float = 10000.0
    layout: Layout = "interleaved"
    rotary_dim: int | float | None = None
    scaling: RoPEScaling | None = None

    name = "rope"
    paper = "arXiv:2104.09864"
    citation = """@misc{su2021roformer, author = {Su, J. and Lu, Y. and Pan, S. and Murtadha, A. and Wen, B. and Liu,
        Y.}, title = {{RoFormer: Enhanced Transformer with Rotary Position Embedding}}, year = {2021},
        eprint = {2104.09864}}"""
    methods = (
        Method("rotary", "RoPE", "rope", "Su et al. 2021", use="W"),
        Method(
            "rotary",
            "RoPE with an adjusted base (ABF)",
            "rope(base=5e5)",
            "Xiong et al. 2023",
            "arXiv:2309.16039",
            "a larger base, with which a trained model is trained on, on longer texts",
            use="W",
        ),
        Method(
            "rotary",
            "Partial RoPE",
            "rope(rotary_dim=0.25, layout='half')",
            "Black et al. 2022",
            "arXiv:2204.06745",
            use="W",
        ),
        Method(
            "rotary",
            "Partial RoPE of neighbours (GLM-4)",
            "rope(rotary_dim=0.5)",
            "GLM team 2024",
            "arXiv:2406.12793",
            use="W",
        ),
    )
    shift_invariant = True
    limits = limited(base=above(0, ": the paper has 10000.0"))

    def check_fields(self) -> None:
        r = self.rotary_dim
        if r is None or 0 < r < 1:
            return
        if r < 1 or r != int(r):
            raise ValueError(f"RoPE.rotary_dim = {r} must be a whole number, a fraction below 1, or None for all")
        object.__setattr__(self, "rotary_dim", int(r))  # 64.0 and 64 are one value

    def check(self, dims: Dims) -> None:
        self.frequencies_for(dims)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        """``[r/2]``, of each plane that turns; only some scalings look at ``length``."""
        r = self.rotated_dim(dims.head_dim)
        if self.scaling is None:
            return vaswani_frequencies(r, self.base)
        return self.scaling.frequencies(self.base, r, length)

    @property
    def magnitude(self) -> float:
        """The factor of cosine and sine."""
        return 1.0 if self.scaling is None else self.scaling.magnitude

    def turns(self, head_dim: int, length: Array, dtype: Any) -> Turns:
        """The frequencies as phase per position, see `RoPEScaling.turns`."""
        r = self.rotated_dim(head_dim)
        if self.scaling is None:
            return turns(vaswani_frequencies(r, self.base))
        return self.scaling.turns(self.base, r, length, dtype)

    def rotated_dim(self, head_dim: int) -> int:
        """r, the number of dimensions that turn."""
        r = head_dim if self.rotary_dim is None else self.rotary_dim
        r = int(r * head_dim) if r < 1 else int(r)
        if r % 2 or not 0 < r <= head_dim:
            raise ValueError(
                f"RoPE turns planes of two dimensions: {self} rotates {r} of head_dim = {head_dim}, but that must be "
                "even, above 0 and at most head_dim: choose another rotary_dim or an even head_dim"
            )
        return r

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        dtype = at_least_float32(x)
        sin, cos = sincos_of_turns(positions, self.turns(x.shape[-1], length, dtype), dtype)
        if self.scaling is not None:
            sin, cos = self.magnitude * sin, self.magnitude * cos
        return turn(x, sin[:, None], cos[:, None], self.layout)


class WithRoPE(PositionalEncoding):
    """Base class of encodings whose field ``rope`` is the rotation that they are made of."""

    rope: RoPE

    def check(self, dims: Dims) -> None:
        self.rope.check(dims)

    def frequencies_for(self, dims: Dims, length: int | None = None) -> np.ndarray:
        return self.rope.frequencies_for(dims, length)


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

    rope: RoPE = RoPE()

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
