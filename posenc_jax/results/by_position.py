"""Perplexity by position of language models: how it falls as the context grows, and whether it rises beyond the
training length.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from posenc_jax.data.score_kinds import KINDS
from posenc_jax.results.averages import interval_of
from posenc_jax.statistics import Interval


@dataclasses.dataclass(frozen=True)
class PositionRange:
    """Positions ``first .. last`` of a window, from 0: the perplexity of every seed, and their mean."""

    first: int
    last: int
    scores: dict[int, float]
    interval: Interval

    @property
    def name(self) -> str:
        """``4-7``."""
        return f"{self.first}-{self.last}" if self.last > self.first else str(self.first)


def read_position_ranges(
    cell: dict[str, Any], learning_rate: float | None, length: int | None, asked: tuple[int, ...], finished: set[int]
) -> tuple[PositionRange, ...]:
    """Perplexities of a cell of ``ablation.json`` by position, in windows of ``length``, at the chosen rate."""
    if length is None:
        return ()
    found: dict[tuple[int, int], dict[int, float]] = {}
    for row in cell.get("by_position") or ():
        if row["length"] == length and row["learning_rate"] == learning_rate and row["seed"] in finished:
            for first, last, perplexity in row["perplexity"]:
                if perplexity is not None:
                    found.setdefault((first, min(last, length - 1)), {})[row["seed"]] = perplexity
    return tuple(
        PositionRange(first, last, scores, interval_of((scores.get(seed) for seed in asked), KINDS["perplexity"]))
        for (first, last), scores in sorted(found.items())
    )
