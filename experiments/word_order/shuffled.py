"""The score lost on real text when the words of the input are shuffled, from finished ablations.

    python experiments/word_order/shuffled.py runs/translation runs/summarization runs/classification

Every cell is measured again by `posenc_jax.evaluate` with shuffled words; parameters stay as they are.
"""

import sys
from pathlib import Path

import numpy as np

from posenc_jax import evaluate
from posenc_jax.cli.session import prepare_jax
from posenc_jax.config import Run
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.files import read_json
from posenc_jax.runs.reporter import Reporter
from posenc_jax.statistics import mean_interval


def row(directory: Path) -> tuple[Run, np.ndarray, np.ndarray]:
    """A cell's config, and the score of every seed with the words in order and shuffled (mean over the lengths within
    the training range).
    """
    config = load_config(directory)
    lengths = tuple(n for n in config.evaluation.lengths if n <= max(config.task.train_lengths))
    metric = config.task.metric
    _, rows = evaluate(directory, shuffle_words=True, reporter=Reporter())
    rows = [row for row in rows if row["length"] in lengths]
    seeds = sorted({row["seed"] for row in rows})
    shuffled = [np.mean([row[metric] for row in rows if row["seed"] == seed]) for seed in seeds]
    replicas = [r for path in sorted(directory.glob("group-*/result.json")) for r in read_json(path)["replicas"]]
    found = {
        r["seed"]: np.mean([part[metric] for part in r["evaluation"] if part["length"] in lengths]) for r in replicas
    }
    return config, np.array([found[seed] for seed in seeds]), np.array(shuffled)


def main(ablations: list[str]) -> None:
    """Prints one Markdown table for all ablations."""
    prepare_jax()
    print("| corpus | encoding | metric | words in order | shuffled | lost [95 % interval] |")
    print("|---|---|---|---|---|---|")
    for ablation in map(Path, ablations):
        for cell in read_json(ablation / "ablation.json")["cells"]:
            config, ordered, shuffled = row(ablation / cell["directory"])
            lost = mean_interval((ordered - shuffled).tolist())
            around = "all equal" if lost.low is None else f"{lost.low:.3g}, {lost.high:.3g}"
            print(
                f"| {config.table} | {config.label} | {config.task.metric.replace('_', ' ')} | {ordered.mean():.3g} "
                f"| {shuffled.mean():.3g} | {lost.mean:.3g} [{around}] |"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
