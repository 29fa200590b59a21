"""The models that are measured."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple


@dataclasses.dataclass(frozen=True)
class Size:
    """A decoder on ``batch`` sequences of ``tokens`` random tokens, or an encoder-decoder with as many on either side;
    one measured call does ``steps`` steps.
    """

    d_model: int
    num_layers: int
    num_heads: int
    tokens: int
    batch: int
    microbatches: int
    steps: int
    kind: str = "decoder_only"


SIZES = {  # microbatches and steps per call found best on two cores
    "d64": Size(d_model=64, num_layers=2, num_heads=4, tokens=40, batch=32, microbatches=2, steps=8),
    "d128": Size(d_model=128, num_layers=4, num_heads=4, tokens=128, batch=32, microbatches=16, steps=4),
    "d256": Size(d_model=256, num_layers=4, num_heads=8, tokens=256, batch=16, microbatches=8, steps=2),
    "d128, encoder-decoder": Size(
        d_model=128,
        num_layers=2,
        num_heads=4,
        tokens=64,
        batch=32,
        microbatches=8,
        steps=4,
        kind="encoder_decoder",
    ),
}
VOCAB = 256


class DecodingSize(NamedTuple):
    """An encoder-decoder and what it decodes."""

    d_model: int
    num_layers: int
    num_heads: int
    vocab: int
    batch: int
    source: int
    new_tokens: int


DECODING = DecodingSize(d_model=128, num_layers=2, num_heads=4, vocab=2000, batch=32, source=32, new_tokens=64)
