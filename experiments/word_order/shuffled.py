"""The score lost on real text when the words of the input are shuffled, from finished ablations.

    python -m experiments.word_order.shuffled runs/translation runs/summarization runs/classification

Every cell is measured again by `posenc_jax.evaluate` with shuffled words; parameters stay as they are. Writes each
ablation's part of shuffled.json beside this file, and from the JSON its part of the README.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from posenc_jax import evaluate
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.session import prepare_jax
from posenc_jax.data.score_kinds import kind_of
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.files.atomic import write_atomically
from posenc_jax.files.checksums import unseal
from posenc_jax.runs.directory import finished, group_directories, load_config
from posenc_jax.runs.environment import environment
from posenc_jax.runs.files import read_json
from posenc_jax.runs.reporter import Reporter
from posenc_jax.statistics import mean_interval

HERE = Path(__file__).parent
README, RECORD = HERE / "README.md", HERE / "shuffled.json"
BEGIN, END = "<!-- Shuffled: written by shuffled.py -->", "<!-- end of shuffled -->"

Json = dict[str, Any]


def measured(ablation: Path) -> Json:
    """Scores of every seed of every cell, in order and shuffled: means over the lengths within the training range."""
    cells = {}
    for cell in read_json(ablation / "ablation.json")["cells"]:
        directory = ablation / cell["directory"]
        config, groups = load_config(directory), group_directories(directory)
        lengths = [n for n in config.evaluation.lengths if config.task.range_of(n) == "within"]
        metric = config.task.metric

        def mean(rows: list[Json], lengths: list[int] = lengths, metric: str = metric) -> float:
            return round(float(np.mean([row[metric] for row in rows if row["length"] in lengths])), 6)

        _, rows = evaluate(directory, shuffle_words=True, reporter=Reporter())
        seeds = sorted({row["seed"] for row in rows})
        replicas = {replica["seed"]: replica for group in groups for replica in finished(group)["replicas"]}
        cells[config.label] = {
            "ordered": {str(seed): mean(replicas[seed]["evaluation"]) for seed in seeds},
            "shuffled": {str(seed): mean([row for row in rows if row["seed"] == seed]) for seed in seeds},
            "trained by": unseal((groups[0] / "environment.json").read_bytes())["began"]["commit"],
        }
    lengths_of = [config.task.length_name(n) for n in lengths]
    return {"metric": metric, "lengths": lengths_of, "environment": environment(), "cells": cells}


def page(found: Json) -> str:
    """The part of the README: a table of all corpora."""
    rows = []
    for corpus, part in found.items():
        kind = kind_of(part["metric"])
        for label, cell in part["cells"].items():
            lost = mean_interval([cell["ordered"][seed] - cell["shuffled"][seed] for seed in cell["ordered"]])
            assert lost.mean is not None
            around = " (all seeds equal)"
            if lost.low is not None and lost.high is not None:
                around = f" [{kind.show_difference(lost.low)}, {kind.show_difference(lost.high)}]"
            means = [kind.show(float(np.mean(list(cell[name].values())))) for name in ("ordered", "shuffled")]
            rows.append([corpus, label, kind.title, *means, kind.show_difference(lost.mean) + around, str(lost.n)])
    head = ["corpus", "encoding", "score", "words in order", "shuffled", "lost [95 %]", "seeds"]
    return grid(head, "lllrrrr", rows)


def main(ablations: list[str] | None = None) -> int:
    """Measures, and writes both files."""
    given = [Path(name).absolute() for name in (sys.argv[1:] if ablations is None else ablations)]
    prepare_jax()
    found = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for ablation in given:
        first = read_json(ablation / "ablation.json")["cells"][0]
        found[load_config(ablation / first["directory"]).table] = measured(ablation)
    write_atomically(RECORD, json.dumps(found, indent=1) + "\n")
    write_atomically(README, refilled(README.read_text(), BEGIN, page(found), END))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
