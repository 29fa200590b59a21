"""Attention over long rows on a CPU: all logits as an array, in blocks, and torch's scaled_dot_product_attention, in
processor time on one core, which other work on the machine changes least.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from benchmarks.processes import Measured, Process, Start, take_turns
from benchmarks.results import Table

HEADS, HEAD_DIM = 4, 64
WAYS = ("dense", "blockwise", "torch")
WORK = {False: "forward", True: "value and gradient"}


def milliseconds(way: str, tokens: int, training: bool, posenc: str = "rope", one_core: bool = True) -> Iterator[float]:
    """The bytes of temporary arrays (0 of torch), then the time of a causal call on random ``[1, H, T, D]``."""
    if one_core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    if way == "torch":
        yield from _torch(tokens, training)
        return
    import jax
    import numpy as np

    from posenc_jax.attention import attend
    from posenc_jax.encodings import Geometry, parse

    slot, geometry = parse(posenc), Geometry.of_length(tokens, num_heads=HEADS, causal=True)
    q, k, v = np.random.default_rng(0).normal(size=(3, 1, HEADS, tokens, HEAD_DIM)).astype(np.float32)

    def loss(q, k, v):
        return attend(q, k, v, slot, ({},) * len(slot), geometry, path=way).sum()

    program = jax.jit(jax.value_and_grad(loss, (0, 1, 2)) if training else loss).lower(q, k, v).compile()
    yield program.memory_analysis().temp_size_in_bytes
    while True:
        begun = time.process_time()
        jax.block_until_ready(program(q, k, v))
        yield (time.process_time() - begun) * 1e3


def _torch(tokens: int, training: bool) -> Iterator[float]:
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    q, k, v = (torch.randn(1, HEADS, tokens, HEAD_DIM, requires_grad=training) for _ in range(3))
    yield 0
    while True:
        begun = time.process_time()
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).sum()
        if training:
            out.backward()
        yield (time.process_time() - begun) * 1e3


def long(
    rounds: int,
    python: str | None,
    lengths: tuple[int, ...] = (1024, 2048, 4096, 8192),
    start: Start = Process,
    one_core: bool = True,
) -> Iterator[Table]:
    """Each way at each length, torch run by ``python`` (None: not there)."""
    ways = WAYS if python else WAYS[:-1]
    times: dict[str, tuple[float, ...]] = {}
    memory: dict[str, tuple[float, ...]] = {}
    for training, name in WORK.items():
        for tokens in lengths:
            members: dict[str, list[Measured]] = {}
            for way in ways:
                arguments = {"way": way, "tokens": tokens, "training": training, "one_core": one_core}
                members[way] = [start("long.milliseconds", arguments, **({"python": python} if way == "torch" else {}))]
            held = [members[way][0].first / 2**20 for way in ways if way != "torch"]
            found = take_turns(members, rounds)
            times[f"{name}, {tokens} tokens"] = tuple(found[way] for way in ways)
            memory[f"{name}, {tokens} tokens"] = tuple(held)
    sizes = f"causal, RoPE before it in ours, {HEADS} heads of {HEAD_DIM}, float32"
    yield Table(
        title="Attention over long rows",
        about=f"Milliseconds of a processor for a call on one core, {sizes}",
        first="work",
        columns=dict.fromkeys(ways, "{:.1f}"),
        rows=times,
    )
    yield Table(
        title="", about="MiB of temporary arrays", first="work", columns=dict.fromkeys(WAYS[:-1], "{:.1f}"), rows=memory
    )
