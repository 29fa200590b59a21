"""STRING of Google DeepMind: rotations of several axes by learned generators that commute."""

import dataclasses

import jax
import jax.numpy as jnp

from posenc_jax.encodings.images_and_media.axial_rope import MixedRoPE, turn_by_vectors
from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited, of_field
from posenc_jax.encodings.shared.rotation import Layout, Rotary, check_planes


@dataclasses.dataclass(frozen=True)
class CayleyString(Rotary):
    """Separable Translationally Invariant Position Encodings, the Cayley form: mixed RoPE in a learned basis::

        R(p) = P RoPE(p) P^T,   P = (I - S) (I + S)^-1,   S = -S^T learned

    (Schenck et al. 2025, section 3; by its theorem 3.3 any rotation that is separable and translation-invariant is of
    this form, with frequencies for each axis and plane.) The P on the left cancels in the product of a query and a key,
    so both are turned by RoPE(p) P^T alone. It is unrelated to the STRING of An et al. (2024), `String`, which shifts
    distances.

    RoPE(p) turns plane k of head h by p_x f_x(h, k) + p_y f_y(h, k). Positions ``[#B, S, 2]``: row y, column x, as from
    `Grid`. The paper's code is not public and the paper does not give initial values: here frequencies start as those
    of `MixedRoPE` with ``base``, and S from N(0, 0.02^2).

    Attributes:
      base: that of the frequencies at the start.
      layout: as in `RoPE`.

    Parameters: ``frequencies [2, Hkv, D/2]``; ``skew [D, D]``, of which what is above the diagonal is read, shared by
    the heads of a layer, as re-implementations have it.

    Raises:
      ValueError: in `check`, if head_dim is no multiple of 4.
    """

    base: float = 100.0
    layout: Layout = "interleaved"

    name = "cayley_string"
    paper = "arXiv:2502.02562"
    citation = """@inproceedings{schenck2025learning, author = {Schenck, C. and Reid, I. and Jacob, M. G. and Bewley, A.
        and Ainslie, J. and Rendleman, D. and others}, title = {{Learning the RoPEs: Better 2D and 3D Position Encodings
        with STRING}}, booktitle = {ICML}, year = {2025}, eprint = {2502.02562}}"""
    methods = (
        Method(
            "rotary",
            "Cayley-STRING (DeepMind)",
            "grid(width=8)|cayley_string",
            "Schenck et al. 2025",
            note="no relative of the STRING for long texts",
            use="s",
        ),
    )
    shift_invariant = True
    per_layer = True
    head_axes = (("frequencies", 1),)
    by_key_head = True
    position_axes = 2
    limits = limited(base=above(0, ": the frequencies at the start are 1 to about 1/base"))

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, 4)

    def init(self, key: Key, dims: Dims) -> Params:
        keys = jax.random.split(key)
        skew = 0.02 * jax.random.normal(keys[0], (dims.head_dim, dims.head_dim), jnp.float32)
        return MixedRoPE(self.base).init(keys[1], dims) | {"skew": skew}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        raw = jnp.asarray(params["skew"])
        dtype = at_least_float32(x, raw)
        upper = jnp.triu(raw.astype(dtype), 1)
        skew, identity = upper - upper.T, jnp.eye(len(upper), dtype=dtype)
        # P^T = (I - S)^-1 (I + S): the two factors commute, and the transpose of S is -S.
        basis = jnp.linalg.solve(identity - skew, identity + skew)
        in_basis = jnp.einsum("ij,bhsj->bhsi", basis, jnp.asarray(x).astype(dtype), precision="highest")
        along_x, along_y = params["frequencies"]
        return turn_by_vectors(in_basis, positions, along_x, along_y, self.layout).astype(x.dtype)


@dataclasses.dataclass(frozen=True)
class CirculantString(Rotary):
    """Separable Translationally Invariant Position Encodings, the circulant form: planes of a discrete Fourier basis::

        R(p) = exp( sum over axes a of p_a (C_a - C_a^T) ),   C_a the circulant matrix of c_a in R^D, learned

    (Schenck et al. 2025, section 3, "Circulant-STRING".) Circulant matrices commute, and the Fourier transform makes
    them diagonal, so that mode m of a head turns by 2 sum of p_a Im(F c_a)_m and a token costs O(D log D). Modes 0
    and D/2 stay as they are; D is even. Positions ``[#B, S, axes]``, as from `Grid`.

    Attributes:
      axes: how many axes the positions have, 2 for images, 3 for films.

    Parameters, for each layer and key head: ``coefficients [Hkv, axes, D]``, c, the first column of C. The paper's own
    code is not public; here they start at N(0, 1/D), so that modes turn by about 1.4 radians from one cell to the next.

    Raises:
      ValueError: in `check`, if head_dim is odd or below 4.
    """

    axes: int = 2

    name = "circulant_string"
    paper = "arXiv:2502.02562"
    citation = CayleyString.citation
    methods = (
        Method(
            "rotary",
            "Circulant-STRING (DeepMind)",
            "grid(width=8)|circulant_string",
            "Schenck et al. 2025",
            note="no relative of the STRING for long texts",
        ),
    )
    shift_invariant = True
    per_layer = True
    head_axes = (("coefficients", 0),)
    by_key_head = True
    limits = limited(axes=at_least(1, ": 2 for images, 3 for films"))
    position_axes = of_field("axes")

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, 2, 4)

    def init(self, key: Key, dims: Dims) -> Params:
        shape = (dims.num_kv_heads, self.axes, dims.head_dim)
        return {"coefficients": jax.random.normal(key, shape, jnp.float32) * dims.head_dim**-0.5}

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        raw, head_dim = jnp.asarray(params["coefficients"]), x.shape[-1]
        dtype = at_least_float32(x, raw)
        speeds = 2 * jnp.fft.rfft(raw.astype(dtype)).imag
        angles = jnp.einsum("bsa,ham->bhsm", jnp.asarray(positions).astype(dtype), speeds, precision="highest")
        angles = jnp.repeat(angles, x.shape[1] // len(raw), axis=1)
        modes = jnp.fft.rfft(jnp.asarray(x).astype(dtype))
        turned = modes * jax.lax.complex(jnp.cos(angles), jnp.sin(angles))
        return jnp.fft.irfft(turned, head_dim).astype(x.dtype)
