"""What the cells of an ablation lost while they trained: read from the ``metrics.jsonl`` of their groups.

No table depends on it; rows that are damaged there are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from posenc_jax.checksums import read_lines
from posenc_jax.shapes import problem

_ROW = {"step": int, "seed": int, "learning_rate": float, "loss": float}

Losses = Mapping[tuple[int, float], Mapping[int, float]]
"""(seed, learning rate) -> step -> mean training loss in nats since the row before; only finite ones."""


def read_losses(cell_directory: Path) -> Losses:
    """What the groups of a cell say; empty where there is nothing."""
    found: dict[tuple[int, float], dict[int, float]] = {}
    for file in sorted(cell_directory.glob("group-*/metrics.jsonl")):
        if file.is_symlink() or not file.is_file():
            continue
        for row in (line.row for line in read_lines(file.read_bytes())):
            if row is not None and not problem(row, _ROW) and math.isfinite(row["loss"]):
                found.setdefault((row["seed"], float(row["learning_rate"])), {})[row["step"]] = float(row["loss"])
    return found
