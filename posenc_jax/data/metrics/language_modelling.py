"""Perplexity."""

from __future__ import annotations

import math


def perplexity(loss: float) -> float:
    """``exp(loss)`` of the mean cross-entropy per token, in nats: how many equally likely tokens it is worth.

    Infinite where a float is too small for it; NaN stays NaN. Models with different tokenizers do not compare by it.
    """
    try:
        return math.exp(loss)
    except OverflowError:
        return math.inf
