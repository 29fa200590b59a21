"""FLOATER: position vectors that flow along a learned differential equation."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.absolute.learned import read_rows
from posenc_jax.encodings.interface.base import Array, Dims, Geometry, Key, Params, PositionalEncoding, at_least_float32
from posenc_jax.encodings.interface.method import Method
from posenc_jax.encodings.interface.value import above, at_least, limited

_CHUNK = 32  # positions integrated at a time
_QUERY, _KEY, _VALUE = range(3)


def flow(params: Params, time: jax.Array, state: jax.Array) -> jax.Array:
    """The velocity ``h(t, p) = [relu([p, t] W_1 + b_1), t] W_2 + b_2`` of a state ``[d]``."""

    def affine(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
        return jnp.matmul(x, weight[:-1], precision="highest") + time * weight[-1] + bias

    return affine(jax.nn.relu(affine(state, params["w_1"], params["b_1"])), params["w_2"], params["b_2"])


@dataclasses.dataclass(frozen=True)
class FLOATER(PositionalEncoding):
    """Vectors per position, added to queries, keys and values of every layer, that solve a learned equation::

        q_i + p^q(i step),   k_j + p^k(j step),   v_j + p^v(j step)
        p(t) = p(0) + integral of h(s, p(s)) ds from 0 to t,   h as in `flow`, one for the three of a layer

    (Liu et al. 2020, section 3, equation 8 and the position-aware biases; the authors' code, flow_func_linear and
    FlowAttention). All of h and p(0) is trained. Solved by the 3/8 rule of Runge and Kutta, that of the authors'
    solver, in ``substeps`` equal steps per position; the gradient is that of these steps (the authors integrate an
    adjoint equation backwards).

    Departures: h is one per layer, as in the paper's equation, where the authors share it between layers. They also
    solve only in every 400th update and use the old vectors in between, which is not done, and add the vectors to a
    model with sinusoidal positions, for which `Sinusoidal` may stand in the slot. With fewer key than query heads, keys
    take the first entries of their vector.

    Positions are solved one after the other, up to the largest there is: expect it to be slow, in decoding above all.
    An equation may grow exponentially along positions, and rounding grows with it: so `breaks` names ``precision``.
    Fractional positions blend their neighbours' vectors; negative ones (padding on the left) count as 0, and positions
    from ``max_len`` on give NaN.

    Attributes:
      step: the time between positions, 0.01 in the authors' code.
      substeps: the steps of the solver per position, 5 in the authors' code, 1000 at most.
      max_len: the largest number of positions.

    Raises:
      ValueError: in `check`, for a model longer than max_len.
    """

    step: float = 0.01
    substeps: int = 5
    max_len: int = 1024

    name = "floater"
    paper = "arXiv:2003.09229"
    citation = """@inproceedings{liu2020learning, author = {Liu, X. and Yu, H.-F. and Dhillon, I. and Hsieh, C.-J.},
        title = {{Learning to Encode Position for Transformer with Continuous Dynamical Model}}, booktitle = {ICML},
        year = {2020}, eprint = {2003.09229}}"""
    methods = (
        Method(
            "absolute",
            "FLOATER",
            "floater",
            "Liu et al. 2020",
            note="solved position by position: slow; the authors add it to a model with sinusoidal positions",
        ),
    )
    per_layer = True
    breaks = frozenset({"precision"})
    limits = limited(
        step=above(0, ": the authors' code has 0.01"), substeps=at_least(1, most=1000), max_len=at_least(1)
    )

    def check(self, dims: Dims) -> None:
        if dims.max_len > self.max_len:
            raise ValueError(
                f"FLOATER.max_len = {self.max_len}, but {dims.max_len} positions occur: raise max_len to {dims.max_len}"
            )

    def init(self, key: Key, dims: Dims) -> Params:
        """``start [3, H*D]``, the vectors p(0) of queries, keys and values; ``w_1``, ``w_2`` ``[H*D + 1, H*D]`` (the
        last row for the time) and ``b_1``, ``b_2`` ``[H*D]``. Initial values as in the authors' code.
        """
        width = dims.num_heads * dims.head_dim
        keys = jax.random.split(key, 3)
        bound = (6 / ((dims.num_layers + 3) * width)) ** 0.5  # Xavier's, of all layers' vectors [3, num_layers, width]
        glorot = jax.nn.initializers.glorot_normal()
        return {
            "start": jax.random.uniform(keys[0], (3, width), jnp.float32, -bound, bound),
            "w_1": glorot(keys[1], (width + 1, width), jnp.float32),
            "b_1": jnp.zeros((width,), jnp.float32),
            "w_2": glorot(keys[2], (width + 1, width), jnp.float32),
            "b_2": jnp.zeros((width,), jnp.float32),
        }

    def own_params(self, params: Params, geometry: Geometry) -> Params:
        """All of them, since the equation mixes heads, and ``own``: which of the entries are this device's."""
        if geometry.head_shards == 1:
            return params
        return params | {"own": geometry.own_heads(jnp.arange(params["start"].shape[1]))}

    def encode_queries(self, params: Params, q: Array, positions: Array, length: Array) -> Array:
        return self._add(params, q, positions, _QUERY)

    def encode_keys(self, params: Params, k: Array, positions: Array, length: Array) -> Array:
        return self._add(params, k, positions, _KEY)

    def value_term(self, params: Params, weights: Array, geometry: Geometry) -> Array:
        vectors = self.vectors(params, geometry.k_positions, _VALUE, at_least_float32(weights))
        vectors = vectors.reshape(*vectors.shape[:2], weights.shape[1], -1)
        vectors = jnp.broadcast_to(vectors, (weights.shape[0], *vectors.shape[1:]))
        return jnp.einsum("bhqk,bkhd->bhqd", weights.astype(vectors.dtype), vectors, precision="highest")

    def vectors(self, params: Params, positions: Array, which: int, dtype: Any) -> Array:
        """``[#B, S, H*D]``: the vectors of queries (0), keys (1) or values (2) at ``positions [#B, S]``."""
        own = params.get("own")
        params = {name: p.astype(at_least_float32(dtype, p)) for name, p in params.items() if name != "own"}
        known = isinstance(positions, np.ndarray)
        positions = positions.clip(0, None)
        needed = (np if known else jnp).ceil(positions.max(initial=0)).astype(np.int32) + 1
        chunks = -(-(min(int(needed), self.max_len) if known else self.max_len) // _CHUNK)

        @jax.checkpoint
        def solve(state: jax.Array, first: jax.Array) -> tuple[jax.Array, jax.Array]:
            """Advances the state through the chunk from ``first`` on: the last state, and all states of the chunk."""
            steps = np.arange(_CHUNK, dtype=np.int32)
            return jax.lax.scan(lambda s, i: (self._advance(params, s, first + i), s), state, steps)

        def skip(state: jax.Array, first: jax.Array) -> tuple[jax.Array, jax.Array]:
            return state, jnp.zeros((_CHUNK, *state.shape), state.dtype)

        def chunk(state: jax.Array, first: jax.Array) -> tuple[jax.Array, jax.Array]:
            return solve(state, first) if known else jax.lax.cond(first < needed, solve, skip, state, first)

        _, table = jax.lax.scan(chunk, params["start"][which], _CHUNK * jnp.arange(chunks, dtype=np.int32))
        table = table.reshape(-1, table.shape[-1])[: self.max_len]
        return read_rows(table if own is None else jnp.take(table, own, axis=1), positions)

    def _add(self, params: Params, x: Array, positions: Array, which: int) -> Array:
        """``x [B, heads, S, D]`` plus the vectors, in its dtype."""
        vectors = self.vectors(params, positions, which, x.dtype)
        heads, head_dim = x.shape[1], x.shape[3]
        if "own" in params and heads * head_dim != vectors.shape[-1]:
            raise ValueError(
                f"FLOATER's keys of {heads} heads take the first entries of their vector, which are no device's own: "
                "split heads over devices only where there are as many key heads as query heads"
            )
        vectors = vectors[..., : heads * head_dim].reshape(*vectors.shape[:2], heads, head_dim).swapaxes(1, 2)
        return (x.astype(vectors.dtype) + vectors).astype(x.dtype)

    def _advance(self, params: Params, state: jax.Array, position: jax.Array) -> jax.Array:
        """Advances the state by one position, in ``substeps`` Runge-Kutta steps."""
        h = self.step / self.substeps

        def substep(p: jax.Array, i: Array) -> tuple[jax.Array, None]:
            t = (position * self.substeps + i).astype(p.dtype) * h
            k_1 = flow(params, t, p)
            k_2 = flow(params, t + h / 3, p + h * (k_1 / 3))
            k_3 = flow(params, t + 2 * h / 3, p + h * (k_2 - k_1 / 3))
            k_4 = flow(params, t + h, p + h * (k_1 - k_2 + k_3))
            return p + h / 8 * (k_1 + 3 * k_2 + 3 * k_3 + k_4), None

        return jax.lax.scan(substep, state, jnp.arange(self.substeps, dtype=np.int32))[0]
