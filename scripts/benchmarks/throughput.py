"""Milliseconds per optimizer step: all modes beside torch."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping

from benchmarks.processes import Measured, Process, Start, cores, take_turns
from benchmarks.results import Table
from benchmarks.sizes import SIZES, Size


def ours(start: Start, size: Size, mode: str = "devices") -> Measured:
    """Training of as many replicas as there are cores, a device for each in mode "devices"."""
    replicas = len(cores())
    arguments = {"size": dataclasses.asdict(size), "mode": mode, "replicas": replicas}
    devices = str(replicas if mode == "devices" else 1)
    return start("jax_training.milliseconds", arguments, env={"JAX_NUM_CPU_DEVICES": devices})


def torch_on(start: Start, size: Size, python: str, used: list[int]) -> Measured:
    """Training of one model on these cores by torch, which ``python`` has."""
    arguments = {"size": dataclasses.asdict(size), "cores": used}
    return start("torch_training.milliseconds", arguments, python=python)


def throughput(
    rounds: int,
    python: str | None,
    modes: tuple[str, ...] = ("devices", "map", "vmap"),
    sizes: Mapping[str, Size] = SIZES,
    start: Start = Process,
) -> Iterator[Table]:
    """These modes, devices without microbatches, and torch run by ``python`` (None: not there)."""
    every = cores()
    for name, size in sizes.items():
        members: dict[str, list[Measured]] = {}
        if python:
            members["torch eager, all cores"] = [torch_on(start, size, python, every)]
        if python and len(every) > 1 and hasattr(os, "sched_setaffinity"):
            members[f"torch eager, {len(every)} processes of one core"] = [
                torch_on(start, size, python, [core]) for core in every
            ]
        for mode in modes:
            members[f"posenc_jax {mode}"] = [ours(start, size, mode)]
        whole = dataclasses.replace(size, microbatches=1)
        members["posenc_jax devices, no microbatches"] = [ours(start, whole)]
        found = take_turns(members, rounds)
        base = found.get("torch eager, all cores")
        yield Table(
            title=f"Training throughput, {name}",
            about=f"Milliseconds per optimizer step of one model, d_model {size.d_model}, "
            f"{size.num_layers}{f' + {size.num_layers}' if size.kind == 'encoder_decoder' else ''} layers, "
            f"{size.tokens} tokens, batch {size.batch}, {size.microbatches} microbatches; speed is over torch's",
            first="implementation",
            columns={"ms": "{:.2f}", "speed": "{:.2f}"},
            rows={label: (ms, base / ms if base else None) for label, ms in found.items()},
        )
