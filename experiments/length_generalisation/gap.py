"""A hole in the positions of training: do models interpolate?

    python -m experiments.length_generalisation.gap

Sequences of 16 symbols stand wholly below position 20 or wholly from 41 to 63 in training; a decoder, asked at each
which symbol stood five before, is then measured where they stand at 22 to 37, in the hole, and at 66 to 81, beyond all.
8 seeds, paired; what was expected: gap-directions.md. Writes gap.json and its part of README.md.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from experiments.length_generalisation.placed import Placed
from experiments.records import NAMED, short
from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.tasks import TokenBack
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.runs.cell import run
from posenc_jax.runs.environment import environment
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.reporter import Reporter
from posenc_jax.statistics import Interval, holm, mean_interval, paired_difference

RECORD = Path(__file__).with_name("gap.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- Gap: written by gap.py -->", "<!-- end of gap -->"
LENGTH = 16
TRAINED = (*range(0, 5), *range(41, 49))
"""The starts of training: positions 0 to 19 and 41 to 63."""
PLACES = {"below": 2, "hole": 22, "above": 45, "beyond": 66}
"""The starts of what is measured."""
ENCODINGS = ("sinusoidal", "learned", "rope")
TASK = TokenBack(length=LENGTH, num_symbols=8, back=5)
SEEDS = (4, 5, 6, 7, 8, 9, 10, 11)

Json = dict[str, Any]


def cell(posenc: str, seeds: tuple[int, ...] = SEEDS) -> Run:
    """One encoding, all else equal."""
    return Run(
        table="five before",
        label=posenc,
        task=TASK,
        model=Transformer(d_model=64, num_layers=2, num_heads=4),
        posenc=(Placed(TRAINED), *parse(posenc)),
        optimizer=Optimizer(schedule="cosine", warmup_steps=50),
        training=Training(steps=400, batch_size=32, microbatches=2, steps_per_call=50, log_every=50),
        evaluation=Evaluation(lengths=(LENGTH,), num_examples=512),
        seeds=seeds,
        learning_rates=(2e-3,),
    )


def main() -> None:
    """Trains and measures all cells and writes record and page."""
    with tempfile.TemporaryDirectory() as folder:
        scores = {posenc: measured(cell(posenc), Path(folder, posenc)) for posenc in ENCODINGS}
    where = environment()
    record = {"accuracy": scores, "environment": {name: where[name] for name in NAMED if name in where}}
    RECORD.write_text(json.dumps(short(record), indent=1) + "\n")
    README.write_text(page(json.loads(RECORD.read_text())))


def measured(config: Run, directory: Path) -> dict[str, list[float]]:
    """The accuracy of every seed at each of `PLACES`."""
    run(config, directory, reporter=Reporter())
    found = {}
    for place, start in PLACES.items():
        _, rows = evaluate(directory, posenc=(Placed((start,)), *config.posenc[1:]), reporter=Reporter())
        found[place] = [float(row["accuracy"]) for row in sorted(rows, key=lambda row: row["seed"])]
        print(config.label, place, round(float(np.mean(found[place])), 3), flush=True)
    return found


def differences(record: Json) -> dict[tuple[str, str], tuple[Interval, float]]:
    """The hole minus the positions of training (of each seed the mean of both parts), and minus those beyond, paired by
    seed, with p values corrected by Holm over all six.
    """
    found = {}
    for posenc, own in record["accuracy"].items():
        seen = [(a + b) / 2 for a, b in zip(own["below"], own["above"], strict=True)]
        for against, others in (("trained", seen), ("beyond", own["beyond"])):
            hole = dict(enumerate(own["hole"]))
            found[posenc, against] = paired_difference(hole, dict(enumerate(others)), lower=0.0, upper=1.0)
    corrected = holm({" ".join(name): one.p for name, one in found.items()})
    return {name: (one.interval, corrected[" ".join(name)]) for name, one in found.items()}


def page(record: Json) -> str:
    """The page with the table of the record."""
    rows, compared = [], differences(record)
    for posenc, own in record["accuracy"].items():
        means = [mean_interval(own[place], lower=0.0, upper=1.0) for place in PLACES]
        rows.append([posenc, *(f"{one.mean:.3f} [{one.low:.3f}, {one.high:.3f}]" for one in means)])
        for against in ("trained", "beyond"):
            one, p = compared[posenc, against]
            rows[-1].append(f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]{' *' * (p < 0.05)}")
    places = ("2 to 17", "22 to 37, the hole", "45 to 60", "66 to 81, beyond")
    columns = ["positions", *places, "hole minus trained", "hole minus beyond"]
    return refilled(README.read_text(), BEGIN, grid(columns, "lrrrrrr", rows), END)


if __name__ == "__main__":
    main()
