"""The scores of a run as lines for a terminal."""

from __future__ import annotations

import math
from typing import Any

from posenc_jax.config import Run


def score_table(config: Run, replicas: list[dict[str, Any]]) -> str:
    """The task's metric, one replica a line, by length, and in range where replicas have a "validation"."""
    metric, lengths = config.task.metric, config.evaluation.lengths
    validated = any("validation" in replica for replica in replicas)
    lines = [
        f"{config.table} {config.label}: {metric.replace('_', ' ')}" + (" by length" if lengths else ""),
        f"{'seed':>6}{'rate':>10}" + f"{'in range':>10}" * validated + "".join(f"{length:>8}" for length in lengths),
    ]
    for replica in sorted(replicas, key=lambda r: (r["learning_rate"], r["seed"])):
        scores = {row["length"]: row[metric] for row in replica["evaluation"]}
        line = f"{replica['seed']:>6}{replica['learning_rate']:>10g}"
        line += f"{_show(replica['validation'][config.task.validation_metric]):>10}" if validated else ""
        line += "".join(f"{_show(scores.get(length)):>8}" for length in lengths)
        diverged_at = replica.get("diverged_at")
        lines.append(line if diverged_at is None else f"{line}  diverged at step {diverged_at}")
    return "\n".join(lines)


def _show(score: float | None) -> str:
    return "-" if score is None or math.isnan(score) else f"{score:.3f}"
