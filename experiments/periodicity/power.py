"""Power of the measures: planted side lobes in simulated observers, and the smallest that 12 seeds find.

    python -m experiments.periodicity.power        # writes power.json

An observer of width d names positions by logits ``beta K_g(p - j) + noise(p, j)``: K_g is the plain sinusoid's kernel
within its main lobe, and beyond it the end of the main lobe plus ``g`` times what the kernel has over that. The noise
is standard normal, drawn once a seed for each pair of positions; beta gives the accuracy. g is the planted share.
Trained seeds differ by far more than these: what a number of seeds finds is computed from the standard deviation
between the seeds of `along.py`, where that is larger than the simulated one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.periodicity.along import ALIAS
from experiments.periodicity.claims import over_seeds
from experiments.periodicity.side_lobes import side_lobes
from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.encodings import vaswani_frequencies
from posenc_jax.runs.environment import environment
from posenc_jax.statistics import detectable

WIDTHS = (8, 16, 32, 64, 128, 256, 512)
ACCURACIES = (0.3, 0.5, 0.7, 0.9)
POSITIONS, SEEDS, SIMULATED = 128, 12, 384
TRIED, ENOUGH = 16, 7
"""Observers that the accuracy is set on. Trained seeds from whose deviation something is concluded."""
MEASURES = {"share": "share", "alias excess": "alias_excess", "excess at the peak": "alias_excess"}
"""Each, and the measure of `along.py` whose deviation between seeds it is given; at the peak none was measured."""
LEAST = {"share": 0.0, "alias excess": 1e-4, "excess at the peak": 1e-4}
"""What float32 probabilities of a thousand questions can show of the excess, in points."""
FILE = Path(__file__).with_name("power.json")
TRAINED = Path(__file__).with_name("side-lobes.json")


class Observers:
    """Simulated observers of one width, as many as seeds are simulated."""

    def __init__(self, d_model: int, positions: int = POSITIONS, simulated: int = SIMULATED) -> None:
        self.kernel = kernel(vaswani_frequencies(d_model), np.arange(positions))
        self.distance = np.abs(np.arange(positions)[:, None] - np.arange(positions)[None])
        self.asked = np.bincount(self.distance.ravel())
        self.noise = np.random.default_rng(d_model).normal(size=(simulated, positions, positions))

    def planted(self, share: float) -> np.ndarray:
        """``[n]``: the kernel with its side lobes in this share."""
        end = lobes(self.kernel).main_lobe
        flat = np.where(np.arange(len(self.kernel)) < end, self.kernel, self.kernel[end - 1])
        return flat + share * (self.kernel - flat)

    def given(self, share: float, beta: float, count: int) -> np.ndarray:
        """``[count, n, n]``: the probability of naming j (column) when shown p."""
        logits = beta * self.planted(share)[self.distance] + self.noise[:count]
        given = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return given / given.sum(axis=-1, keepdims=True)

    def beta(self, share: float, accuracy: float) -> float:
        """The factor at which this share of the answers is right, as the accuracy of trained models is counted."""
        low, high = 0.0, 1.0
        while self._accuracy(share, high) < accuracy:
            high *= 2
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if self._accuracy(share, middle) < accuracy else (low, middle)
        return high

    def _accuracy(self, share: float, beta: float) -> float:
        logits = beta * self.planted(share)[self.distance] + self.noise[:TRIED]
        return float((logits.argmax(axis=-1) == np.arange(len(self.distance))).mean())

    def measured(self, share: float, accuracy: float) -> dict[str, np.ndarray]:
        """Measures of every observer: the share that is found, and the excess of the first reading at 63 and at the
        peak side lobe, in points.
        """
        beta = self.beta(share, accuracy)
        given = self.given(share, beta, len(self.noise))
        found: dict[str, list[float]] = {name: [] for name in MEASURES}
        for noise, chances in zip(self.noise, given, strict=True):
            curve, chance = (
                np.bincount(self.distance.ravel(), x.ravel()) / self.asked
                for x in (beta * self.planted(share)[self.distance] + noise, chances)
            )
            lobe = side_lobes(curve, self.kernel, self.asked)
            found["share"].append(lobe.share)
            for name, at in (("alias excess", ALIAS), ("excess at the peak", lobe.peak)):
                found[name].append(100 * (chance[at] - (chance[at - 1] + chance[at + 1]) / 2))
        return {name: np.array(values) for name, values in found.items()}


def between_seeds(trained: dict[str, Any], d_model: int, accuracy: float, measure: str) -> tuple[float, str]:
    """The standard deviation of a measure between trained seeds of the plain sinusoid, and which those are: of this
    width at this accuracy, or of the nearest accuracy, or of the nearest width, at which there are `ENOUGH`.
    """
    there = []
    for width in WIDTHS:
        for level in ACCURACIES:
            name = f"sinusoidal, d {width}, position_of"
            found = over_seeds(trained, name, level, measure) if name in trained["arms"] else None
            if found is not None and found.n >= ENOUGH and found.deviation is not None:
                away = (abs(np.log2(width / d_model)), abs(level - accuracy))
                there.append((away, found.deviation, f"{found.n} of d {width} at {level}"))
    _, deviation, which = min(there)
    return deviation, which


def power(d_model: int, accuracy: float, trained: dict[str, Any]) -> dict[str, Any]:
    """The smallest planted share that `SEEDS` seeds find with power 0.8, by the share and by the excess at 63 and at
    the peak; None: not even the whole kernel. And how often a planted share of that size is found in simulation.
    """
    observers = Observers(d_model)
    nothing, everything = (observers.measured(share, accuracy) for share in (0.0, 1.0))
    row: dict[str, Any] = {"d_model": d_model, "accuracy": accuracy}
    for name, measure in MEASURES.items():
        at_0, at_1 = nothing[name], everything[name]
        gain = float(at_1.mean() - at_0.mean())
        seen, which = between_seeds(trained, d_model, accuracy, measure)
        deviation = max(seen, float(at_0.std(ddof=1)))
        smallest = detectable(deviation, SEEDS) / abs(gain) if abs(gain) > LEAST[name] else np.inf
        row[name] = {
            "of nothing": [float(at_0.mean()), float(at_0.std(ddof=1))],
            "of the whole kernel": [float(at_1.mean()), float(at_1.std(ddof=1))],
            "between seeds": seen,
            "seeds": which,
            "deviation": deviation,
            "smallest found": smallest if smallest <= 1 else None,
        }
    share = row["share"]
    if share["smallest found"] is not None:
        values = observers.measured(share["smallest found"], accuracy)["share"]
        share["found in simulation"] = found_in_simulation(values, share["deviation"])
    return row


def found_in_simulation(values: np.ndarray, deviation: float, draws: int = 4000) -> float:
    """The share of repeats in which 12 of these values, drawn with replacement and spread to this deviation, have a
    95 % interval without 0.
    """
    from scipy.stats import t

    random = np.random.default_rng(0)
    more = np.sqrt(max(deviation**2 - values.var(ddof=1), 0.0))
    drawn = random.choice(values, (draws, SEEDS)) + more * random.normal(size=(draws, SEEDS))
    half = t.ppf(0.975, SEEDS - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(SEEDS)
    return float(np.mean(np.abs(drawn.mean(axis=1)) > half))


def main() -> None:
    """Writes the file."""
    trained = json.loads(TRAINED.read_text())
    rows = [power(d_model, accuracy, trained) for d_model in WIDTHS for accuracy in ACCURACIES]
    rounded = json.loads(json.dumps(rows), parse_float=lambda text: float(f"{float(text):.4g}"))
    lines = ",\n".join("  " + json.dumps(row) for row in rounded)
    FILE.write_text(f'{{"environment": {json.dumps(environment())},\n "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
