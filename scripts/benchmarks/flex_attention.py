"""torch's FlexAttention, causal, with a learned table of distances or without a bias, on a GPU where there is one."""

from __future__ import annotations

import time
from collections.abc import Iterator


def milliseconds(bias: bool, training: bool, tokens: int, head_dim: int, batch: int, heads: int) -> Iterator[float]:
    """The first call's time, compilation included; then of a call in bfloat16 (float32 on a CPU)."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    on_gpu = torch.cuda.is_available()
    device, dtype = ("cuda", torch.bfloat16) if on_gpu else ("cpu", torch.float32)
    torch.manual_seed(0)
    shape, learns = (batch, heads, tokens, head_dim), {"device": device, "requires_grad": training}
    q, k, v = (torch.randn(shape, dtype=dtype, **learns) for _ in range(3))
    table = torch.randn(heads, tokens, **learns)

    def visible(b, h, query, key):
        return query >= key

    def biased(score, b, h, query, key):
        return score + table[h, query - key]

    mask = create_block_mask(visible, None, None, tokens, tokens, device=device)
    # A CPU has no compiled gradients of it.
    attention = torch.compile(flex_attention) if on_gpu else flex_attention

    def call() -> None:
        out = attention(q, k, v, score_mod=biased if bias else None, block_mask=mask)
        if training:
            out.float().sum().backward()
        if on_gpu:
            torch.cuda.synchronize()

    while True:
        begun = time.perf_counter()
        call()
        yield (time.perf_counter() - begun) * 1e3
