"""Biases that are functions of the distance: computed, where possible, once for each distance that occurs."""

import itertools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array, Geometry, Key, Params

# Numbers that `row_blocks` lets a function hold at once: 16 MiB in float32.
BLOCK = 2**22


def relative_on_device(geometry: Geometry) -> Array:
    """`Geometry.relative` of device arrays: the difference of host arrays would put a Q x K constant into a program."""
    return geometry.at(jnp.asarray(geometry.q_positions), jnp.asarray(geometry.k_positions)).relative


def toeplitz(values: Array, num_queries: int, num_keys: int) -> Array:
    """``[..., Q, K]`` whose element i, j is ``values[..., j - i + Q - 1]``, from ``[..., Q + K - 1]``.

    Rows of length Q+K are repeated and read again in rows of length Q+K-1. Neither this nor its gradient, a sum over
    the queries, gathers or scatters.
    """
    width = num_queries + num_keys
    padded = jnp.concatenate([values, jnp.zeros_like(values[..., :1])], axis=-1)
    rows = jnp.broadcast_to(padded[..., None, :], (*values.shape[:-1], num_queries, width))
    flat = rows.reshape(*values.shape[:-1], num_queries * width)[..., : num_queries * (width - 1)]
    return flat.reshape(*values.shape[:-1], num_queries, width - 1)[..., num_queries - 1 :]


def by_distance(function: Callable[[Array], Array], geometry: Geometry, width: int = 1) -> Array:
    """``[#B, H, Q, K]``: ``function`` of key minus query for each pair.

    Args:
      function: maps distances ``[#B, N]`` (``[#B, N, A]`` of positions with axes) to ``[#B, H, N]``, each by itself.
      width: how many numbers it holds for each distance, as the hidden layer of a perceptron does.

    Contiguous positions have Q+K-1 distances. For other positions that are known on the host, a function with a width
    above 1 sees every distance once. For traced positions it sees all pairs, some queries at a time (`row_blocks`).
    """
    num_queries, num_keys = geometry.q_positions.shape[1], geometry.k_positions.shape[1]
    if geometry.contiguous and geometry.q_positions.ndim == 2:
        first = geometry.k_positions[:, :1] - geometry.q_positions[:, -1:]
        relative = first + np.arange(num_queries + num_keys - 1, dtype=np.int32)[None]
        return toeplitz(function(relative), num_queries, num_keys)
    if width > 1 and isinstance(geometry.q_positions, np.ndarray) and isinstance(geometry.k_positions, np.ndarray):
        relative = geometry.relative
        batch = relative.shape[0]
        distinct, inverse = np.unique(relative.reshape(-1, *relative.shape[3:]), axis=0, return_inverse=True)
        values = jnp.take(function(distinct[None])[0], inverse.reshape(batch, num_queries, num_keys), axis=1)
        return jnp.moveaxis(values, 0, 1)
    return row_blocks(function, relative_on_device(geometry), width)


def row_blocks(function: Callable[[Array], Array], x: Array, width: int = 1) -> Array:
    """``[#B, H, Q, K]``: ``function``, as in `by_distance`, of every element of ``x [#B, Q, K]`` or ``[#B, Q, K, A]``.

    Where it would hold more than `BLOCK` numbers it takes one block of queries after the other, and computes each anew
    in the backward pass, which costs one more evaluation: a pair never needs ``width`` numbers for longer.
    """
    batch, num_queries, num_keys, *axes = x.shape
    rows = max(1, BLOCK // max(1, batch * num_keys * width))
    if width == 1 or rows >= num_queries:
        values = function(x.reshape(batch, num_queries * num_keys, *axes))
        return values.reshape(batch, -1, num_queries, num_keys)
    values = jax.lax.map(jax.checkpoint(function), jnp.moveaxis(x, 1, 0), batch_size=rows)
    return jnp.moveaxis(values, 0, 2)


def init_perceptron(key: Key, sizes: tuple[int, ...]) -> Params:
    """``weight_0 [sizes[0], sizes[1]]``, ``bias_0``, ``weight_1``, ...: uniform within 1 / sqrt(inputs), the default of
    torch.
    """
    params = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        weight_key, bias_key = jax.random.split(jax.random.fold_in(key, i))
        limit = math.sqrt(1 / inputs)
        params[f"weight_{i}"] = jax.random.uniform(weight_key, (inputs, outputs), jnp.float32, -limit, limit)
        params[f"bias_{i}"] = jax.random.uniform(bias_key, (outputs,), jnp.float32, -limit, limit)
    return params


def perceptron(params: Params, x: Array, activation: Callable[[Array], Array]) -> Array:
    """``[#B, H, N]`` from ``x [#B, N, inputs]``: layers ``weight_i`` with ``bias_i`` where there is one, and the
    activation between them.
    """
    depth = sum(name.startswith("weight_") for name in params)
    for i in range(depth):
        weight, bias = params[f"weight_{i}"], params.get(f"bias_{i}")
        # One input: a product, not a matrix product, which TPUs would round to bfloat16.
        x = x * weight[None] if weight.shape[0] == 1 else jnp.matmul(x, weight, precision="highest")
        if bias is not None:
            x = x + bias[None, None]
        if i < depth - 1:
            x = activation(x)
    return jnp.swapaxes(x, 1, 2)
