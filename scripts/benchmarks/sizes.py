"""The models that are measured."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Size:
    """A decoder on ``batch`` sequences of ``tokens`` random tokens; one measured call does ``steps`` steps."""

    d_model: int
    num_layers: int
    num_heads: int
    tokens: int
    batch: int
    microbatches: int
    steps: int


SIZES = {  # microbatches and steps per call found best on two cores
    "d64": Size(d_model=64, num_layers=2, num_heads=4, tokens=40, batch=32, microbatches=8, steps=8),
    "d128": Size(d_model=128, num_layers=4, num_heads=4, tokens=128, batch=32, microbatches=16, steps=4),
}
VOCAB = 256
