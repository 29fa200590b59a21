"""What the measures can see: planted side lobes in simulated observers, and the smallest that 12 seeds find.

    python -m experiments.periodicity.power        # writes power.json, a minute

An observer of width d names positions by logits ``beta K_g(p - j) + noise(p, j)``: K_g is the plain sinusoid's kernel
within its main lobe, and beyond it the end of the main lobe plus ``g`` times what the kernel has over that. The noise
is standard normal, drawn once a seed for each pair of positions; beta gives the accuracy. g is the planted share.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from posenc_jax.analysis.kernels import kernel, lobes
from posenc_jax.analysis.side_lobes import side_lobes
from posenc_jax.encodings import vaswani_frequencies
from posenc_jax.statistics import detectable

WIDTHS = (8, 16, 32, 64, 128, 256, 512)
ACCURACIES = (0.3, 0.5, 0.7, 0.9)
POSITIONS, SEEDS, SIMULATED = 128, 12, 384
LEAST = {"share": 0.0, "alias excess": 1e-4}
"""What float32 probabilities of a thousand questions can show of the excess, in points."""
FILE = Path(__file__).with_name("power.json")


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
        """The factor at which the right position gets this mean probability."""
        low, high = 0.0, 1.0
        while self._accuracy(share, high) < accuracy:
            high *= 2
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if self._accuracy(share, middle) < accuracy else (low, middle)
        return high

    def _accuracy(self, share: float, beta: float) -> float:
        return float(np.diagonal(self.given(share, beta, 2), axis1=1, axis2=2).mean())

    def measured(self, share: float, accuracy: float) -> tuple[np.ndarray, np.ndarray]:
        """Of every observer the share that is found, and the alias excess of the first reading at the peak, points."""
        beta = self.beta(share, accuracy)
        given = self.given(share, beta, len(self.noise))
        shares, excesses = [], []
        for noise, chances in zip(self.noise, given, strict=True):
            curve, chance = (
                np.bincount(self.distance.ravel(), x.ravel()) / self.asked
                for x in (beta * self.planted(share)[self.distance] + noise, chances)
            )
            found = side_lobes(curve, self.kernel, self.asked)
            shares.append(found.share)
            excesses.append(100 * (chance[found.peak] - (chance[found.peak - 1] + chance[found.peak + 1]) / 2))
        return np.array(shares), np.array(excesses)


def power(d_model: int, accuracy: float) -> dict[str, Any]:
    """The smallest planted share that `SEEDS` seeds find with power 0.8, by the share and by the alias excess; None:
    not even the whole kernel. And how often a planted share of that size, or of 1, is found in simulation.
    """
    observers = Observers(d_model)
    nothing, everything = (observers.measured(share, accuracy) for share in (0.0, 1.0))
    row: dict[str, Any] = {"d_model": d_model, "accuracy": accuracy}
    for name, at_0, at_1 in zip(("share", "alias excess"), nothing, everything, strict=True):
        gain = float(at_1.mean() - at_0.mean())
        smallest = detectable(float(at_0.std(ddof=1)), SEEDS) / abs(gain) if abs(gain) > LEAST[name] else np.inf
        row[name] = {
            "of nothing": [float(at_0.mean()), float(at_0.std(ddof=1))],
            "of the whole kernel": [float(at_1.mean()), float(at_1.std(ddof=1))],
            "smallest found": smallest if smallest <= 1 else None,
        }
    smallest = row["share"]["smallest found"]
    if smallest is not None:
        row["share"]["found in simulation"] = found_in_simulation(observers.measured(smallest, accuracy)[0])
    return row


def found_in_simulation(values: np.ndarray, draws: int = 4000) -> float:
    """How often 12 of these values, drawn with replacement, have an interval of 95 % without 0."""
    from scipy.stats import t

    drawn = np.random.default_rng(0).choice(values, (draws, SEEDS))
    half = t.ppf(0.975, SEEDS - 1) * drawn.std(axis=1, ddof=1) / np.sqrt(SEEDS)
    return float(np.mean(np.abs(drawn.mean(axis=1)) > half))


def main() -> None:
    """Writes the file."""
    rows = [power(d_model, accuracy) for d_model in WIDTHS for accuracy in ACCURACIES]
    rounded = json.loads(json.dumps(rows), parse_float=lambda text: float(f"{float(text):.4g}"))
    lines = ",\n".join(" " + json.dumps(row) for row in rounded)
    FILE.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
