"""Milliseconds per optimizer step: all modes beside torch, and all encodings beside none."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping

from benchmarks.processes import Measured, Process, Start, cores, take_turns
from benchmarks.results import Table
from benchmarks.sizes import SIZES, Size

ENCODINGS = ("nope", "sinusoidal", "learned", "rope", "alibi", "t5", "shaw", "transformer_xl", "randomized|rope")


def ours(
    start: Start,
    size: Size,
    mode: str = "devices",
    posenc: str = "nope",
    training: str = "jax_training.milliseconds",
    **env: str,
) -> Measured:
    """Training of as many replicas as there are cores, a device for each in mode "devices"."""
    replicas = len(cores())
    arguments = {"size": dataclasses.asdict(size), "mode": mode, "posenc": posenc, "replicas": replicas}
    devices = {"JAX_NUM_CPU_DEVICES": str(replicas if mode == "devices" else 1)}
    return start(training, arguments, env=devices | env)


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


def encodings(
    rounds: int,
    names: tuple[str, ...] = ENCODINGS,
    sizes: Mapping[str, Size] = {name: SIZES[name] for name in ("d64", "d128")},
    start: Start = Process,
) -> Iterator[Table]:
    """A training step with each encoding, over the first one."""
    columns = []
    for size in sizes.values():
        found = take_turns({name: [ours(start, size, posenc=name)] for name in names}, rounds)
        columns.append([found[name] / found[names[0]] for name in names])
    yield Table(
        title=f"A training step with each encoding, over {names[0]} (devices mode)",
        first="encoding",
        columns=dict.fromkeys(sizes, "{:.2f}"),
        rows=dict(zip(names, zip(*columns, strict=True), strict=True)),
    )


def gradients(rounds: int, sizes: Mapping[str, Size] = SIZES, start: Start = Process) -> Iterator[Table]:
    """A training step with each gradient of linear layers (`posenc_jax.models.product`)."""
    ways = {"JAX's own": "jax_training.with_plain_gradients", "a transposed copy": "jax_training.milliseconds"}
    columns = {
        name: take_turns({way: [ours(start, size, training=training)] for way, training in ways.items()}, rounds)
        for name, size in sizes.items()
    }
    plain, copied = ways
    yield Table(
        title="Gradients of linear layers on a CPU (devices mode)",
        about="Milliseconds per optimizer step of one model",
        first="gradient",
        columns=dict.fromkeys(sizes, "{:.2f}"),
        rows={
            **{way: tuple(columns[name][way] for name in sizes) for way in ways},
            "ratio": tuple(columns[name][copied] / columns[name][plain] for name in sizes),
        },
    )
