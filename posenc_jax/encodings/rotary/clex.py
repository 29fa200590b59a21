"""CLEX: frequencies of RoPE that a learned differential equation scales with the length (Chen et al. 2023)."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp

from posenc_jax.encodings.interface.base import Array, Dims, Key, Params, at_least_float32, by_token
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited
from posenc_jax.encodings.shared.phase import vaswani_frequencies
from posenc_jax.encodings.shared.rotation import Layout, Rotary, check_planes, turn


@dataclasses.dataclass(frozen=True)
class CLEX(Rotary):
    """RoPE whose log frequencies follow a learned differential equation in the factor by which texts are longer::

        theta(t) = min(exp z(t), 2 pi),   z_k(1) = ln base^(-2k/D),   t = min(ceil(l / L), max_factor)
        dz/dt = act((z + ln n(t)) up) down + d ln n / dt,   n_k(t) = base^(-2k/D) (2t - 1)^(-2k/(D-2))

    (Chen et al. 2023, in the form of the authors' code, clex_layer.py.) l is the real length, L that of training: texts
    up to L get plain RoPE. n are the frequencies of NTK-aware scaling by 2t - 1; with ``down`` = 0, as at the start,
    they are the solution. The equation is solved from 1 to ``max_factor`` by the 3/8 rule in ``substeps`` steps per
    factor, anew for queries and keys. Angles are plain products in at least float32.

    Departures. The authors train on texts of length L: each draws a factor t up to ``max_factor`` and takes L of the L
    t positions. Here the length alone decides the factor, so the equation learns from texts longer than L. Their code
    solves it with a base of 10,000 for every model, this one with ``base``. The bound of one turn per position is ours:
    it keeps angles defined for parameters far from the start.

    Attributes:
      base: as in `RoPE`.
      layout: as in `RoPE`.
      original_length: L.
      max_factor: the largest t, 16 in the authors' code.
      width: the width of the hidden layer as a multiple of D, 1 in the authors' code.
      act: the activation of the hidden layer.
      substeps: the steps of the solver per factor, 100 in the authors' code.

    Parameters: ``up [D/2, width D]``, ``down [width D, D/2]``.

    Raises:
      ValueError: in `check`, for an odd head_dim or one below 4.
    """

    base: float = 10000.0
    layout: Layout = "half"
    original_length: int = 4096
    max_factor: int = 16
    width: int = 1
    act: Literal["silu", "tanh"] = "silu"
    substeps: int = 100

    name = "clex"
    paper = "arXiv:2310.16450"
    citation = """@inproceedings{chen2023clex, author = {Chen, G. and Li, X. and Meng, Z. and Liang, S. and Bing, L.},
        title = {{CLEX: Continuous Length Extrapolation for Large Language Models}}, booktitle = {ICLR 2024},
        year = {2023}, eprint = {2310.16450}}"""
    methods = (
        Method(
            "rotary",
            "CLEX",
            "clex(original_length=4, max_factor=4, substeps=10)",
            "Chen et al. 2023",
            note="the authors draw factors and positions in training",
        ),
    )
    shift_invariant = True
    limits = limited(
        base=above(0, ": 10000.0 is RoPE's"),
        original_length=at_least(1, ": the length in training"),
        max_factor=at_least(1, ": the authors have 16", most=1024),
        width=at_least(1, most=64),
        substeps=at_least(1, ": the authors have 100", most=1000),
    )

    def check(self, dims: Dims) -> None:
        check_planes(self, dims, least=4)

    def init(self, key: Key, dims: Dims) -> Params:
        """``up`` uniform within ``1 / sqrt(width D)``, ``down`` 0, as in the authors' code."""
        self.check(dims)
        hidden = self.width * dims.head_dim
        bound = 1 / math.sqrt(hidden)
        return {
            "up": jax.random.uniform(key, (dims.head_dim // 2, hidden), jnp.float32, -bound, bound),
            "down": jnp.zeros((hidden, dims.head_dim // 2), jnp.float32),
        }

    def frequencies(self, params: Params, dtype: jnp.dtype) -> Array:
        """``[max_factor, D/2]``: those of the factors 1, 2, ..., in radians per position."""
        up, down = (jnp.asarray(params[name]).astype(dtype) for name in ("up", "down"))
        planes = up.shape[0]
        plain = jnp.log(vaswani_frequencies(2 * planes, self.base)).astype(dtype)
        exponent = (jnp.arange(planes) / (planes - 1)).astype(dtype)
        act = {"silu": jax.nn.silu, "tanh": jnp.tanh}[self.act]

        def slope(t: jax.Array, z: jax.Array) -> jax.Array:
            inside = z + plain - exponent * jnp.log(2 * t - 1)
            hidden = act(jnp.einsum("k,kh->h", inside, up, precision="highest"))
            return jnp.einsum("h,hk->k", hidden, down, precision="highest") - 2 * exponent / (2 * t - 1)

        h = 1 / self.substeps

        def step(z: jax.Array, t: jax.Array) -> tuple[jax.Array, None]:
            a = slope(t, z)
            b = slope(t + h / 3, z + h * a / 3)
            c = slope(t + 2 * h / 3, z + h * (b - a / 3))
            d = slope(t + h, z + h * (a - b + c))
            return z + h / 8 * (a + 3 * (b + c) + d), None

        @jax.checkpoint
        def factor(z: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
            """Advances the solution from one factor to the next."""
            after, _ = jax.lax.scan(step, z, t + h * jnp.arange(self.substeps, dtype=dtype))
            return after, after

        _, later = jax.lax.scan(factor, plain, jnp.arange(1, self.max_factor, dtype=dtype))
        return jnp.exp(jnp.minimum(jnp.concatenate([plain[None], later]), math.log(math.tau)))

    def rotated(self, params: Params, x: Array, positions: Array, length: Array) -> Array:
        dtype = at_least_float32(x, params["up"])
        times = -(-by_token(jnp.asarray(length)) // self.original_length)
        index = jnp.clip(times, 1, self.max_factor).astype(jnp.int32) - 1
        frequencies = jnp.take(self.frequencies(params, dtype), index, axis=0)[:, None]
        angles = jnp.asarray(positions).astype(dtype)[:, None, :, None] * frequencies
        return turn(x, jnp.sin(angles), jnp.cos(angles), self.layout)
