"""How much of the aliases in answers is geometry: positions named by a linear readout of their vectors, and no model.

    python -m experiments.periodicity.readout     # writes readout.json and the table of README.md

The readout has a logit ``w_q . PE(p) + b_q`` for each of 128 positions q and is trained by Adam on all of them at
once, from weights near 0: there are no symbols, no attention and no layer. Its alias excess at 63 is that of
`along.py`, where the right position has the same mean probability at every width; it has the largest logit long before.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from experiments.periodicity.along import ALIAS, POSITIONS, SEEDS
from experiments.records import NAMED, short
from posenc_jax.cli.errors import guarded
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.encodings import sinusoidal
from posenc_jax.runs.environment import environment
from posenc_jax.statistics import mean_interval

HERE = Path(__file__).parent
README, RECORD = HERE / "README.md", HERE / "readout.json"
BEGIN, END = "<!-- Readout: written by readout.py -->", "<!-- end of readout -->"
WIDTHS, LEVELS = (8, 16, 32, 64, 128), (0.2, 0.4)
RATE, BETAS = 1e-2, (0.9, 0.999)

Json = dict[str, Any]


def alias_excess(given: np.ndarray) -> float:
    """What ``given [P, P]`` has at offset 63, ahead and back, over the mean of 62 and 64 from the same positions."""
    p = np.arange(POSITIONS - ALIAS - 1)
    at = {k: (given[p, p + k] + given[::-1, ::-1][p, p + k]) / 2 for k in (ALIAS - 1, ALIAS, ALIAS + 1)}
    return float((at[ALIAS] - (at[ALIAS - 1] + at[ALIAS + 1]) / 2).mean())


def readout(d_model: int, seed: int) -> list[float]:
    """Alias excess at 63, in points of probability, where the right position has each probability of `LEVELS`."""
    vectors = np.append(sinusoidal(np.arange(POSITIONS), d_model, dtype=np.float64), np.ones((POSITIONS, 1)), axis=1)
    weights = 0.02 * np.random.default_rng(seed).normal(size=(POSITIONS, d_model + 1))
    mean, square, step = np.zeros_like(weights), np.zeros_like(weights), 0
    right, excess = [0.0], [0.0]
    while right[-1] < max(LEVELS):
        step += 1
        logits = vectors @ weights.T
        given = np.exp(logits - logits.max(axis=1, keepdims=True))
        given /= given.sum(axis=1, keepdims=True)
        right.append(float(given.diagonal().mean()))
        excess.append(100 * alias_excess(given))
        slope = (given - np.eye(POSITIONS)).T @ vectors / POSITIONS
        mean = BETAS[0] * mean + (1 - BETAS[0]) * slope
        square = BETAS[1] * square + (1 - BETAS[1]) * slope**2
        weights -= RATE * (mean / (1 - BETAS[0] ** step)) / (np.sqrt(square / (1 - BETAS[1] ** step)) + 1e-8)
    return np.interp(LEVELS, right, excess).tolist()


def measured() -> Json:
    """Alias excess by width and probability, of each seed."""
    widths = {d: dict(zip(LEVELS, np.transpose([readout(d, seed) for seed in SEEDS]).tolist())) for d in WIDTHS}
    kept = {name: value for name, value in environment().items() if name in NAMED}
    return short({"widths": widths, "environment": kept})


def page(found: Json) -> str:
    """The table of the page."""
    rows = []
    for d, levels in found["widths"].items():
        each = [mean_interval(of) for of in levels.values()]
        rows.append([d, *(f"{one.mean:.4f} [{one.low:.4f}, {one.high:.4f}]" for one in each)])
    return grid(["d_model", *(f"excess at 63, points, right answer {level}" for level in LEVELS)], "rrr", rows)


def main() -> int:
    """Measures, and writes the record and the table."""
    RECORD.write_text(json.dumps(found := measured(), indent=1) + "\n")
    README.write_text(refilled(README.read_text(), BEGIN, page(found), END))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
