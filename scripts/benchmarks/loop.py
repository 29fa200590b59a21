"""The share of a run's training that the host takes for itself, instead of waiting for the compiled program."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.processes import Process, Start, cores
from benchmarks.results import Table
from benchmarks.sizes import SIZES, Size
from posenc_jax import Evaluation, Execution, Run, Training, Transformer, parse, run
from posenc_jax.data.tasks import Copying
from posenc_jax.runs.reporter import Reporter

CADENCES: dict[str, dict[str, int]] = {
    "rows only": {},
    "and a checkpoint every 10 calls": {"checkpoint_every": 10},
    "and a validation every 10 calls": {"validate_every": 10},
}
"""In calls of 50 steps."""


def loop(
    calls: int = 40, steps: int = 50, sizes: Mapping[str, Size] | None = None, start: Start = Process
) -> Iterator[Table]:
    """Whole runs as a user starts them, as many replicas as there are cores, rows of metrics after every call."""
    rows: dict[str, tuple[float | None, ...]] = {}
    for name, size in (sizes or {"d64": SIZES["d64"]}).items():
        for words, cadences in CADENCES.items():
            arguments = {"size": dataclasses.asdict(size), "calls": calls, "steps": steps, "cadences": cadences}
            process = start("loop.shares", arguments, env={"JAX_NUM_CPU_DEVICES": str(len(cores()))})
            rows[f"{name}, {words}"] = tuple(process.first)
            process.close()
    yield Table(
        title=f"Training outside of the compiled program, {calls} calls of {steps} steps",
        about="Per cent of the time of training in which the host did something else than wait for a program. Programs "
        "run meanwhile: what they wait for the host is less. Compiling and validations have times of their own",
        first="run",
        columns={"ms a step": "{:.2f}", "% of the host": "{:.2f}"},
        rows=rows,
    )


def shares(size: dict[str, Any], calls: int, steps: int, cadences: dict[str, int]) -> Iterator[tuple[float, float]]:
    """Milliseconds of a step of one replica, and the share of the host in per cent."""
    found, replicas = Size(**size), len(cores())
    config = Run(
        task=Copying(kind="cmc", max_length=max((found.tokens - 3) // 2, 1)),
        model=Transformer(d_model=found.d_model, num_layers=found.num_layers, num_heads=found.num_heads),
        posenc=parse("rope"),
        training=Training(
            steps=calls * steps,
            batch_size=found.batch,
            microbatches=found.microbatches,
            steps_per_call=steps,
            log_every=steps,
            **{name: every * steps for name, every in cadences.items()},
        ),
        evaluation=Evaluation(lengths=(1,), num_examples=1),
        execution=Execution(group_size=replicas),
        seeds=tuple(range(replicas)),
    )
    with tempfile.TemporaryDirectory() as directory:
        run(config, directory, reporter=Reporter())
        rows = (Path(directory) / "group-000" / "timing.jsonl").read_text().splitlines()
    (row,) = (row for row in map(json.loads, rows) if row.get("phase") == "train")
    yield 1e3 * row["seconds"] / row["steps"] / replicas, 100 * row["host_share"]
