"""Multiplicative GRAPE with general generators of rank two (Zhang et al. 2025)."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.base import Array, Dims, Key, Params, at_least_float32
from posenc_jax.encodings.grape_m import GRAPEM
from posenc_jax.encodings.method import Method
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Rotary, check_planes
from posenc_jax.encodings.value import above, at_least, limited


@dataclasses.dataclass(frozen=True)
class GRAPEMPlanes(Rotary):
    """Multiplicative GRAPE with general generators of rank two, which need not commute::

        G(n) = exp(n L),   L = sum over j = 1 .. m of omega_j (a_j b_j^T - b_j a_j^T)

    (Zhang et al. 2025, section 2 and, for several planes, the appendix on non-commuting GRAPE and its algorithm.) One
    plane is the closed form exp(n L) = 1 + sin(n s)/s L + (1 - cos(n s))/s^2 L^2 of section 2.3; any number goes
    through the r = 2 m dimensions that the vectors span, where L is diagonal in complex coordinates, so that a token
    costs O(D m).

    The paper gives no initialisation for several planes and there is no authors' code: here all a_j and b_j are
    orthonormal (its gauge for one plane), in random directions, and omega_1 .. omega_m the first frequencies of RoPE,
    ``base^(-2k/D)`` from k = 0 on. As the paper says, what such rotations can express is their angles: the basis could
    as well be in W_q and W_k.

    Attributes:
      planes: m, at most D/2; None is D/2.
      base: that of the frequencies at the start.

    Parameters per layer and key head: ``a``, ``b`` ``[Hkv, m, D]`` and ``log_frequencies [Hkv, m]``.
    """

    planes: int | None = None
    base: float = 10000.0

    name = "grape_m_planes"
    paper = "arXiv:2512.07805"
    citation = GRAPEM.citation
    methods = (Method("rotary", "GRAPE-M, general planes", "grape_m_planes", "Zhang et al. 2025"),)
    shift_invariant = True
    per_layer = True
    head_axes = (("a", 0), ("b", 0), ("log_frequencies", 0))
    by_key_head = True
    limits = limited(
        base=above(1, ", as gradients need planes of different frequencies: RoPE has 10000.0"),
        planes=at_least(1, ", or None for head_dim / 2"),
    )

    def check(self, dims: Dims) -> None:
        check_planes(self, dims)
        if self.planes is not None and 2 * self.planes > dims.head_dim:
            raise ValueError(
                f"GRAPEMPlanes.planes = {self.planes} span {2 * self.planes} dimensions, but head_dim = "
                f"{dims.head_dim}: at most {dims.head_dim // 2} planes fit"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        planes = dims.head_dim // 2 if self.planes is None else self.planes
        shape = (dims.num_kv_heads, dims.head_dim, 2 * planes)
        frame = jnp.swapaxes(jnp.linalg.qr(jax.random.normal(key, shape, jnp.float32))[0], 1, 2)
        logs = np.log(vaswani_frequencies(dims.head_dim, self.base))[:planes].astype(np.float32)
        return {
            "a": frame[:, :planes],
            "b": frame[:, planes:],
            "log_frequencies": jnp.tile(logs[None], (dims.num_kv_heads, 1)),
        }

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        a, b, logs = (jnp.asarray(params[name]) for name in ("a", "b", "log_frequencies"))
        dtype = at_least_float32(x, a)
        a, b, omega = a.astype(dtype), b.astype(dtype), jnp.exp(logs.astype(dtype))
        basis = jnp.linalg.qr(jnp.swapaxes(jnp.concatenate([a, b], axis=1), 1, 2))[0]  # [Hkv, D, r]
        exact = jax.lax.Precision.HIGHEST
        in_a, in_b = (jnp.einsum("hmd,hdr->hmr", x, basis, precision=exact) for x in (a, b))
        outer = jnp.einsum("hm,hmr,hms->hrs", omega, in_a, in_b, precision=exact)
        # A skew matrix times i is Hermitian: exp(n L) = U exp(-i n lambda) U*.
        values, vectors = jnp.linalg.eigh(jax.lax.complex(jnp.zeros_like(outer), outer - jnp.swapaxes(outer, 1, 2)))
        groups = x.shape[1] // len(basis)
        basis, values, vectors = (jnp.repeat(x, groups, axis=0) for x in (basis, values, vectors))
        wide = jnp.asarray(x).astype(dtype)
        inside = jnp.einsum("bhsd,hdr->bhsr", wide, basis, precision=exact)
        modes = jnp.einsum("bhsr,hrk->bhsk", inside.astype(vectors.dtype), vectors.conj(), precision=exact)
        angles = jnp.asarray(positions).astype(dtype)[:, None, :, None] * values[None, :, None]
        modes = modes * jax.lax.complex(jnp.cos(angles), -jnp.sin(angles))
        change = jnp.einsum("bhsk,hrk->bhsr", modes, vectors, precision=exact).real - inside
        return (wide + jnp.einsum("bhsr,hdr->bhsd", change, basis, precision=exact)).astype(x.dtype)
