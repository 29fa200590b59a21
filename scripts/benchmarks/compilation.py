"""Seconds to the first step without and with a filled compilation cache, and the programs of an ablation."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.processes import Process, Start
from benchmarks.results import Table
from benchmarks.sizes import SIZES, Size
from benchmarks.throughput import ours
from posenc_jax import Ablation, Evaluation, Run, Training, Transformer, ablate, parse
from posenc_jax.data.tasks import Copying


def compilation(sizes: Mapping[str, Size] = SIZES, start: Start = Process) -> Iterator[Table]:
    """The first step of a run in two processes that share a cache."""
    rows = {}
    for name, size in sizes.items():
        with tempfile.TemporaryDirectory() as cache:
            env = {
                "JAX_COMPILATION_CACHE_DIR": cache,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
            }
            seconds = []
            for _ in range(2):
                process = ours(start, size, posenc="rope", **env)
                seconds.append(process.first)
                process.close()
        rows[name] = tuple(seconds)
    columns = dict.fromkeys(("first step, cold", "first step, warm cache"), "{:.1f} s")
    yield Table("Compilation", "size", columns, rows)


def programs(
    names: tuple[str, ...] = ("nope", "rope"),
    seeds: int = 3,
    lengths: tuple[int, ...] = (4, 8, 12, 40),
    start: Start = Process,
) -> Iterator[Table]:
    """Programs that a small ablation compiles, on two devices."""
    arguments = {"names": names, "seeds": seeds, "lengths": lengths}
    process = start("compilation.compiled", arguments, env={"JAX_NUM_CPU_DEVICES": "2"})
    count, kinds, groups = process.first
    process.close()
    yield Table(
        title="Programs of an ablation",
        about=f"With {len(names)} encodings, {seeds} seeds in {groups} groups each, and {len(lengths)} lengths: "
        f"{', '.join(kinds)} for each encoding, besides one initialisation of the model for all and one per encoding",
        first="of",
        columns={"compiled": "{:.0f}", "encodings": "{:.0f}", "programs of each": "{:.0f}"},
        rows={"all cells": (count, len(names), len(kinds))},
    )


def compiled(names: list[str], seeds: int, lengths: list[int]) -> Iterator[tuple[int, list[str], int]]:
    """The number of compiled programs, their kinds, and the groups of a cell."""
    base = Run(
        task=Copying(kind="rsc", min_length=2, max_length=8, num_symbols=10),
        model=Transformer(d_model=16, num_heads=2, num_layers=1),
        training=Training(steps=20, steps_per_call=10, log_every=10, batch_size=8, validation_batches=2),
        evaluation=Evaluation(lengths=tuple(lengths), num_examples=8),
        seeds=tuple(range(seeds)),
    )
    runs = tuple(dataclasses.replace(base, posenc=parse(name), label=name) for name in names)
    with tempfile.TemporaryDirectory() as directory:
        ablate(Ablation(name="count", runs=runs), directory)
        groups = list(Path(directory).glob("*/group-*"))
        timings = [path for group in groups for path in group.glob("timing.jsonl")]
        rows = [json.loads(line) for path in timings for line in path.read_text().splitlines()]
    found = [row["program"] for row in rows if "compile_seconds" in row]
    yield len(found), sorted(set(found)), len(groups) // len(names)
