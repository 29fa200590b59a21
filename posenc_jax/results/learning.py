"""Training losses of the cells of an ablation, read from the ``metrics.jsonl`` of their groups.

No table depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from posenc_jax.results.groups import other_metrics, own_groups, whole_rows
from posenc_jax.shapes import problem

_ROW = {"step": int, "seed": int, "learning_rate": float, "loss?": float}

Losses = Mapping[tuple[int, float], Mapping[int, float]]
"""(seed, learning rate) -> step -> mean training loss in nats since the row before; only finite ones."""


def read_losses(cell_directory: Path, config_hash: str | None = None) -> tuple[Losses, list[str]]:
    """Losses of the groups of a cell, empty without any; and a line for each group that is left out because its file is
    damaged or belongs to another cell.
    """
    found: dict[tuple[int, float], dict[int, float]] = {}
    groups, problems = own_groups(cell_directory, config_hash)
    for group in groups:
        rows, wrong = whole_rows(group, "metrics.jsonl", lambda row: problem(row, _ROW))
        if wrong := wrong or other_metrics(group):
            problems.append(wrong)
            continue
        for row in rows:
            if math.isfinite(row.get("loss", math.nan) or math.nan):
                found.setdefault((row["seed"], float(row["learning_rate"])), {})[row["step"]] = float(row["loss"])
    return found, problems
