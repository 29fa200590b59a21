"""Value and gradient of reading learned tables: rows by position, and products by distance."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.results import Table
from posenc_jax.encodings.learned import read_rows
from posenc_jax.encodings.shaw import pick


def one_hot_rows(table: jax.Array, positions: jax.Array) -> jax.Array:
    """`read_rows` as a product with one-hot vectors."""
    return jax.nn.one_hot(positions, table.shape[0], dtype=table.dtype) @ table


def one_hot_pick(x: jax.Array, rows: jax.Array) -> jax.Array:
    """`pick` as a product with one-hot vectors."""
    return jnp.einsum("bhqr,bqkr->bhqk", x, jax.nn.one_hot(rows, x.shape[-1], dtype=x.dtype))


def milliseconds(
    forms: tuple[Callable, ...],
    table: jax.Array,
    index: np.ndarray,
    shape: tuple[int, ...],
    rounds: int,
    known: bool = False,
) -> list[float]:
    """Median time of the value and gradient of ``form(table, index)``, broadcast to ``shape``; a known index is a
    constant of the program.
    """
    weights = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def program(form: Callable) -> Callable:
        def loss(table, traced):
            return (form(table, index if known else traced) * weights).sum()

        return jax.jit(jax.value_and_grad(loss))

    programs = [program(form) for form in forms]
    traced = jnp.asarray(index)
    for step in programs:
        jax.block_until_ready(step(table, traced))
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(rounds):
        for step, found in zip(programs, times, strict=True):
            begun = time.perf_counter()
            for _ in range(5):
                out = step(table, traced)
            jax.block_until_ready(out)
            found.append((time.perf_counter() - begun) * 1e3 / 5)
    return [statistics.median(found) for found in times]


def tables(
    rounds: int,
    lengths: tuple[int, ...] = (128, 512, 4096),
    limits: tuple[int, ...] = (16, 127),
    batch: int = 32,
    width: int = 128,
) -> Iterator[Table]:
    """Tables of these lengths at ``batch x width`` positions, then products of 2 limit + 1 distances."""
    rng = np.random.default_rng(0)
    rows: dict[str, tuple[float, ...]] = {}
    for length in lengths:
        table = jnp.asarray(rng.normal(size=(length, 128)), jnp.float32)
        contiguous = np.arange(width, dtype=np.int32)[None]
        spread = rng.integers(0, length, (batch, width)).astype(np.int32)
        shape = (batch, width, 128)
        found = milliseconds((read_rows,), table, contiguous, shape, rounds, known=True)
        found += milliseconds((read_rows, one_hot_rows), table, spread, shape, rounds)
        rows[f"L = {length}"] = tuple(found)
    yield Table(
        title=f"Learned tables, value and gradient, float32 (ms), on {jax.devices()[0].device_kind}",
        first=f"rows of [L, 128] at {batch} x {width} positions",
        columns=dict.fromkeys(("contiguous, known", "gather", "one-hot"), "{:.2f}"),
        rows=rows,
    )
    rows = {}
    for limit in limits:
        products = jnp.asarray(rng.normal(size=(8, 4, width, 2 * limit + 1)), jnp.float32)
        distance = np.arange(width)[None, :] - np.arange(width)[:, None]
        index = np.clip(distance, -limit, limit)[None].astype(np.int32) + limit
        rows[f"k = {limit}"] = tuple(milliseconds((pick, one_hot_pick), products, index, (8, 4, width, width), rounds))
    yield Table(
        title="",
        first=f"products [8, 4, {width}, 2k+1] by distance",
        columns=dict.fromkeys(("gather", "one-hot"), "{:.2f}"),
        rows=rows,
    )
