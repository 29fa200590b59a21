"""Whether Möbius RoPE's scores of needles vary less over seeds than RoPE's (Bae 2026), with 16 paired seeds.

    python -m experiments.near_and_far.moebius

A decoder of two layers and 4 heads, of which one has the ladder, finds 4 digits in a haystack of up to 24 tokens. N is
the longest row in training, 31 tokens, and nothing longer is measured, since its turns repeat with 2N. The number of
steps, at which some seeds find the digits and others do not, was chosen with RoPE alone, on seeds 100 to 102.

Variances are compared by the test of Pitman and Morgan, as seeds are paired (the same data; parameters drawn alike):
``s1^2 / s2^2`` times ``K -+ sqrt(K^2 - 1)`` is its interval, with ``K = 1 + 2 (1 - r^2) t^2 / (n - 2)``, r the
correlation of the scores and t the quantile of Student's distribution. What was expected is in `directions`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats

from experiments.near_and_far import directions
from experiments.near_and_far.directions import MOEBIUS
from experiments.records import NAMED, short
from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Passkey
from posenc_jax.runs.cell import run
from posenc_jax.runs.environment import environment
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.reporter import Reporter

RECORD = Path(__file__).with_name("moebius.json")
TASK = Passkey(min_length=8, max_length=24, value_digits=4, num_fillers=16, haystack="random")
ARMS = {"rope": "rope", "moebius": f"moebius_rope(training_length={TASK.width(24)})"}
SEEDS = tuple(range(16))


def scores(arm: str, seeds: tuple[int, ...] = SEEDS) -> list[float]:
    """The exact match of every seed."""
    config = Run(
        table="passkey",
        label=arm,
        task=TASK,
        model=Transformer(d_model=32, num_layers=2, num_heads=4),
        posenc=parse(ARMS[arm]),
        optimizer=Optimizer(schedule="cosine", warmup_steps=50),
        training=Training(steps=500, batch_size=16, microbatches=2, steps_per_call=50, log_every=500),
        evaluation=Evaluation(lengths=(24,), num_examples=512),
        seeds=seeds,
        learning_rates=(3e-3,),
    )
    with tempfile.TemporaryDirectory() as folder:
        run(config, Path(folder, arm), reporter=Reporter())
        _, rows = evaluate(Path(folder, arm), reporter=Reporter())
    return [float(row["exact_match"]) for row in sorted(rows, key=lambda row: row["seed"])]


def ratio(first: list[float], second: list[float]) -> tuple[float, float, float]:
    """The ratio of two variances of pairs, and its 95 % interval."""
    n, value = len(first), np.var(first, ddof=1) / np.var(second, ddof=1)
    r, t = np.corrcoef(first, second)[0, 1], scipy.stats.t.ppf(0.975, n - 2)
    k = 1 + 2 * (1 - r**2) * t**2 / (n - 2)
    factor = k + np.sqrt(k**2 - 1)
    return float(value), float(value / factor), float(value * factor)


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """`MOEBIUS` with the logarithm of the ratio."""
    mean, low, high = np.log(ratio(found["rope"], found["moebius"])).tolist()
    return [directions.judged(MOEBIUS, mean, low, high, directions.found_from(low, high, 0.95))]


def main(*arms: str) -> None:
    """Runs what the record lacks, and keeps it."""
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for arm in arms or ARMS:
        if arm not in found:
            found[arm] = scores(arm)
            where = environment()
            found["environment"] = {name: where[name] for name in NAMED if name in where}
            RECORD.write_text(json.dumps(short(found)) + "\n")
            print(arm, np.mean(found[arm]), np.std(found[arm], ddof=1), found[arm], flush=True)
    print(judged(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
