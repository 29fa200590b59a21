"""Results of a finished ablation: the arms that have results, and alias excess over their seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from experiments.periodicity.measures import alias_excess, by_distance, rank_correlation
from experiments.periodicity.trained_frequencies import TrainedFrequencies
from posenc_jax import Ablation, Run
from posenc_jax.analysis.kernels import kernel
from posenc_jax.analysis.views import frequencies
from posenc_jax.encodings import Sinusoidal, elements
from posenc_jax.runs.directory import load_stored, results
from posenc_jax.runs.errors import RefusedError
from posenc_jax.statistics import Interval, mean_interval

HOME, ALIAS = 5, 68
OFFSET = ALIAS - HOME
FAST = 6
"""The nearest whole number to a turn of the fastest wave."""
CONTROL = 31
"""Half of 63: also near a whole number of the fastest waves (5 instead of 10), but half a turn of the next wave. For
Vaswani's frequencies at d_model 8 the kernel has a maximum there too, of 0.467 only.
"""


@dataclasses.dataclass(frozen=True)
class Arm:
    """One arm: its config and, by seed, the scores of its test examples; seeds that diverged are left out."""

    run: Run
    seeds: dict[int, dict[str, Any]]

    @property
    def positions(self) -> int:
        """The number of positions."""
        return self.run.task.length  # type: ignore[attr-defined]

    def interval(self, measure: Callable[[dict[str, Any]], float]) -> Interval:
        """The interval of a measure over the seeds."""
        return mean_interval(measure(self.seeds[seed]) if seed in self.seeds else None for seed in self.run.seeds)

    def predicted(self) -> np.ndarray | None:
        """``[n]``: the kernel of its frequencies by offset, at the start of training; None where it has none or moves
        positions at random.
        """
        slot, offsets = self.run.posenc, np.arange(self.positions)
        used = elements(slot)
        if len(used) == 1 and isinstance(used[0], TrainedFrequencies):
            return kernel(frequencies((Sinusoidal(base=used[0].base),), self.run.dims), offsets)
        if not used or any("map_positions" in element.acts_on for element in used):
            return None
        try:
            return kernel(frequencies(slot, self.run.dims), offsets)
        except ValueError:
            return None


def read(directory: Path) -> list[Arm]:
    """The arms that have results, in order; RefusedError if there is none of these tasks."""
    config = load_stored(directory) if (directory / "config.json").exists() else None
    if not isinstance(config, Ablation):
        raise RefusedError(f"{directory} is no ablation directory: name the one that posenc ablate wrote")
    arms = []
    for run in config.runs:
        seeds = {}
        for result in results(directory / run.directory_name, run):
            for replica in result["replicas"]:
                if replica["diverged_at"] is None and "given_contrast" in (replica["evaluation"] or ({},))[0]:
                    seeds[replica["seed"]] = replica["evaluation"][0]
        if seeds:
            arms.append(Arm(run, seeds))
    if not arms:
        raise RefusedError(f"{directory} has no result of token_at, position_of or token_back: let the ablation finish")
    return arms


def excess_of(arm: Arm, offset: int, which: str = "given") -> Interval:
    """Alias excess over the seeds; ``which`` is "given" (probability) or "said" (how often it is the largest)."""
    return arm.interval(lambda s: alias_excess(s[f"{which}_contrast"], s["asked_by_offset"], offset))


def rank_of(predicted: np.ndarray, scores: dict[str, Any]) -> float:
    """Rank correlation of a kernel with the confusion of one seed, over all offsets."""
    return rank_correlation(predicted, by_distance(scores["given_by_offset"], scores["asked_by_offset"]))
