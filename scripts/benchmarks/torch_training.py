"""The same model and optimizer in eager torch; an encoder-decoder is `torch.nn.Transformer`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.sizes import VOCAB


def python_with(*modules: str) -> str | None:
    """This Python or the one that the variable TORCH_PYTHON names, whichever has these modules (torch); None if
    neither.
    """
    asked = f"import {', '.join(modules or ('torch',))}"
    for python in (sys.executable, os.environ.get("TORCH_PYTHON")):
        if python and not subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode:
            return python
    return None


def milliseconds(size: dict[str, Any], cores: list[int]) -> Iterator[float]:
    """The seconds to the first step; then each call's milliseconds per step, on these cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    import torch
    from torch import nn

    torch.set_num_threads(len(cores))
    torch.manual_seed(0)
    d, heads = size["d_model"], size["num_heads"]

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = self.qkv(self.n1(x)).view(b, t, 3, heads, d // heads).permute(2, 0, 3, 1, 4)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
            return x + self.down(nn.functional.gelu(self.up(self.n2(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCAB, d)
            self.blocks = nn.ModuleList(Block() for _ in range(size["num_layers"]))
            self.norm, self.output = nn.LayerNorm(d), nn.Linear(d, VOCAB)

        def forward(self, tokens):
            x = self.embedding(tokens) * d**0.5
            for block in self.blocks:
                x = block(x)
            return self.output(self.norm(x))

    class Pairs(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCAB, d)
            layers = size["num_layers"]
            self.stacks = nn.Transformer(
                d, heads, layers, layers, 4 * d, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.output = nn.Linear(d, VOCAB)
            self.mask = nn.Transformer.generate_square_subsequent_mask(size["tokens"])

        def forward(self, tokens):
            source = self.embedding(torch.randint(0, VOCAB, tokens.shape)) * d**0.5
            target = self.embedding(tokens) * d**0.5
            return self.output(self.stacks(source, target, tgt_mask=self.mask, tgt_is_causal=True))

    begun = time.perf_counter()
    model = Model() if size["kind"] == "decoder_only" else Pairs()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.0, fused=True)

    def step():
        tokens = torch.randint(0, VOCAB, (size["batch"], size["tokens"] + 1))
        loss = nn.functional.cross_entropy(model(tokens[:, :-1]).reshape(-1, VOCAB), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    step()
    yield time.perf_counter() - begun
    while True:
        begun = time.perf_counter()
        for _ in range(size["steps"]):
            step()
        yield (time.perf_counter() - begun) * 1e3 / size["steps"]
