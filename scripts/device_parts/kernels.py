"""Speed of attention by length: ours, cuDNN without a bias, XLA's logits as an array."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from device_parts.part import FASTEST, SHARED, LeftOutError, Part, Row, is_out_of_memory, milliseconds
from posenc_jax.attention import attend
from posenc_jax.encodings import Dims, Geometry, init_slot, layer_params, parse

WAYS = {
    "kernel, T5": ("kernel", "t5"),
    "kernel, no bias": ("kernel", "nope"),
    "cuDNN, no bias": ("cudnn", "nope"),
    "XLA, T5": ("dense", "t5"),
    "XLA, no bias": ("dense", "nope"),
    "blocks, T5": ("blockwise", "t5"),
}
WIDTH, TOKENS = 2048, 16384
"""Of all heads together, and of a batch, as in FlashAttention's benchmark (Dao 2023, arXiv:2307.08691)."""


class Size(NamedTuple):
    """Causal attention in bfloat16."""

    tokens: int
    head_dim: int
    batch: int
    heads: int
    rounds: int = 10

    def operations(self, training: bool) -> float:
        """Of the products of the pairs that a causal mask lets through; with gradients 3.5 times those of a forward
        pass, as FlashAttention counts.
        """
        return 2 * self.batch * self.heads * self.tokens**2 * self.head_dim * (3.5 if training else 1)


def sizes(miniature: bool) -> list[Size]:
    """The middle lengths first."""
    if miniature:
        return [Size(16, 16, 1, 2, 1)]
    lengths = (4096, 2048, 8192, 16384)
    return [Size(t, d, TOKENS // t, WIDTH // d) for t in lengths for d in (64, 128)]


def measured(way: str, size: Size) -> Row:
    """Milliseconds of a forward pass, and with all gradients: median, least and most of the rounds."""
    row: Row = {}
    for name, training in (("forward", False), ("training", True)):
        try:
            times = timed(*WAYS[way], size, training)
        except Exception as error:
            if not (row and is_out_of_memory(error)):  # what was measured before is kept
                raise
            row[name] = {"out_of_memory": str(error).splitlines()[0][:200]}
        else:
            row[name] = times | {"teraflops": size.operations(training) / times["ms"] / 1e9}
    return row


def timed(path: str, spec: str, size: Size, training: bool) -> dict[str, float]:
    """The time of `posenc_jax.attention.attend`; LeftOutError where the path does not serve it here."""
    encodings = parse(spec)
    dims = Dims(size.heads * size.head_dim, size.heads, size.heads, size.head_dim, 1, size.tokens, 16)
    params = layer_params(encodings, init_slot(jax.random.key(0), encodings, dims), 0)
    geometry = Geometry.of_length(size.tokens, num_heads=size.heads, causal=True)
    shape = (3, size.batch, size.heads, size.tokens, size.head_dim)
    q, k, v = jax.random.normal(jax.random.key(1), shape, jnp.bfloat16)

    def out(q, k, v, params):
        return attend(q, k, v, encodings, params, geometry, path=path)

    def loss(*arguments):
        return out(*arguments).astype(jnp.float32).sum()

    program: Any = jax.jit(jax.grad(loss, (0, 1, 2, 3)) if training else out)
    try:
        program = program.lower(q, k, v, params).compile()
    except ValueError as error:
        if "cannot serve this call" not in str(error):
            raise
        raise LeftOutError(str(error)) from None
    return milliseconds(lambda: jax.block_until_ready(program(q, k, v, params)), size.rounds)


def cases(miniature: bool) -> Mapping[str, Callable[[], Row]]:
    """Every way at every size."""
    return {
        f"{way}, {size.tokens} tokens, heads of {size.head_dim}": functools.partial(measured, way, size)
        for size in sizes(miniature)
        for way in WAYS
    }


def _numbers(row: Row) -> tuple[float | None, ...]:
    return tuple(row[of].get(name) for of in ("forward", "training") for name in ("ms", "least", "most", "teraflops"))


ATTENTION = Part(
    "attention",
    "Attention by length",
    f"Causal, bfloat16, {TOKENS:,} tokens in a batch and heads of {WIDTH:,} dimensions together; T5's bias with the "
    "gradient of its table. Median, least and most of ten rounds, and the operations of a causal mask's pairs at the "
    "median. `-`: out of memory",
    cases,
    {
        f"{of}, {what}": form
        for of in ("forward", "with gradients")
        for what, form in (("ms", "{:.2f}"), ("least", "{:.2f}"), ("most", "{:.2f}"), ("TFLOP/s", "{:.0f}"))
    },
    _numbers,
    FASTEST | SHARED,
)
PARTS = (ATTENTION,)
