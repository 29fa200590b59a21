"""The record of an ablation that sweeps fields, as `posenc ablate` writes it, without a training."""

import dataclasses
import math
from pathlib import Path

import sealed_files
from synthetic_ablation import complete

from posenc_jax.config import Ablation, Evaluation, Run, Training, config_hash, to_json
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import ALiBi, RoPE, spec
from posenc_jax.models.config import Transformer

LENGTHS = (4, 8, 12)
BASE = Run(
    task=Copying(kind="rsc", max_length=8),
    table="rsc",
    model=Transformer(d_model=16, num_layers=1, num_heads=2),
    training=Training(steps=10),
    evaluation=Evaluation(lengths=LENGTHS),
    posenc=(RoPE(),),
    label="rope",
    seeds=(0, 1, 2),
)


def width(run: Run, d_model: int) -> Run:
    """A run at a width."""
    model = dataclasses.replace(run.model, d_model=d_model)
    return dataclasses.replace(run, model=model, label=f"{run.label} {d_model}")


def widths_and_rates(values=(16, 32, 64), rates=(5e-4, 1e-3, 2e-3)) -> tuple[Run, ...]:
    """Two encodings at every width and learning rate."""
    arms = (BASE, dataclasses.replace(BASE, posenc=(ALiBi(),), label="alibi"))
    return tuple(width(dataclasses.replace(run, learning_rates=rates), value) for run in arms for value in values)


def quality(run: Run, rate: float) -> float:
    """Best at a rate that falls with the width; alibi is better at all of them."""
    off = math.log2(rate * run.model.d_model / 0.032)
    return math.exp(-(off**2) / 8) * (0.9 if run.label.startswith("alibi") else 0.6)


def write_sweep(directory: Path, runs: tuple[Run, ...], score=quality, diverged=lambda run, rate, seed: False) -> Path:
    """The ablation of these runs."""
    directory.mkdir(parents=True, exist_ok=True)
    config = Ablation(name="sweep", runs=runs)
    cells, rows = [], []
    for run in runs:
        cell = {"label": run.label, "task_label": run.table, "posenc": spec(run.posenc)}
        cell |= {"config_hash": config_hash(run), "directory": run.directory_name, "lengths": list(LENGTHS)}
        cell |= {"seeds": list(run.seeds), "learning_rates": list(run.learning_rates)}
        cells.append(cell)
        for seed, rate in run.replicas:
            whole = min(1.0, score(run, rate) * (1 + 0.05 * math.sin(7.0 * seed + run.model.d_model)))
            for length in LENGTHS:
                value = whole if length <= 8 else whole * 8 / length
                row = {name: cell[name] for name in ("task_label", "label", "posenc", "config_hash")}
                row |= {"seed": seed, "learning_rate": rate, "length": length, "count": 64.0}
                row |= {"range": "within" if length <= 8 else "beyond", "exact_match": value, "loss": 1 - value}
                row |= {"validation": whole, "diverged_at": 5 if diverged(run, rate, seed) else None}
                rows.append(row)
    record = {"name": "sweep", "title": "A sweep", "cells": cells, "seeds": [0], "published": []}
    tables = [run.table for run in runs]
    record |= {"metric": dict.fromkeys(tables, "exact_match"), "train_lengths": {name: [2, 8] for name in tables}}
    record |= {"config": to_json(config)}
    sealed_files.write(directory / "ablation.json", complete(record))
    sealed_files.write_rows(directory / "results.jsonl", rows)
    return directory
