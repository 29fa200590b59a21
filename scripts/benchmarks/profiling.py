"""The parts of a training step: time by the kind of work, as XLA's own profiler saw it, and what the system adds."""

from __future__ import annotations

import collections
import dataclasses
import re
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.jax_training import config, prepared
from benchmarks.processes import Process, Start
from benchmarks.results import Table
from benchmarks.sizes import SIZES, Size

KINDS = (
    "matmul, forward",
    "matmul, gradients of activations",
    "matmul, gradients of weights",
    "products of attention, both ways",
    "elementwise",
    "reductions",
    "copies, transposes, concatenations",
)
_MOVES = {
    *("parameter", "constant", "copy", "transpose", "bitcast", "reshape", "slice", "concatenate", "pad"),
    *("dynamic-slice", "dynamic-update-slice", "broadcast", "tuple", "get-tuple-element"),
}
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (?:\([^=]*\)|\S+) ([\w\-]+)\((.*)")


def profile(sizes: Mapping[str, Size] = SIZES, posenc: str = "nope", start: Start = Process) -> Iterator[Table]:
    """One replica on one device: the share of each kind of work, then time, processor, page faults and threads."""
    found = {}
    for name, size in sizes.items():
        process = start(
            "profiling.step",
            {"size": dataclasses.asdict(size), "posenc": posenc},
            env={"JAX_NUM_CPU_DEVICES": "1"},
        )
        found[name] = process.first
        process.close()
    yield Table(
        title=f"Where a training step goes ({posenc}, one replica on one device)",
        about="Share of the time inside XLA's operations",
        first="kind of work",
        columns=dict.fromkeys(sizes, "{:.1%}"),
        rows={kind: tuple(found[name]["shares"][kind] for name in sizes) for kind in KINDS},
    )
    yield Table(
        title="",
        about="Of the same step, not profiled",
        first="a step",
        columns=dict.fromkeys(sizes, "{:.1f}"),
        rows={row: tuple(found[name]["step"][row] for name in sizes) for row in found[next(iter(sizes))]["step"]},
    )


def step(size: dict[str, int], posenc: str) -> Iterator[dict[str, Any]]:
    """One call measured plainly, one under the profiler."""
    program, state = prepared(config(size, "devices", posenc, 1))
    for _ in range(2):
        state, metrics = program(state, None)
        np.asarray(metrics["loss"])
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    state, metrics = program(state, None)
    np.asarray(metrics["loss"])
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    steps = size["steps"]
    with tempfile.TemporaryDirectory() as directory:
        with jax.profiler.trace(directory):
            state, metrics = program(state, None)
            np.asarray(metrics["loss"])
        (trace,) = Path(directory).rglob("*.xplane.pb")
        spent = time_by_kind(trace, kinds(program.hlo()))
    total = sum(spent.values())
    yield {
        "shares": {kind: spent[kind] / total for kind in KINDS},
        "step": {
            "ms": seconds * 1e3 / steps,
            "ms of processor": (user + system) * 1e3 / steps,
            "ms of it in the system": system * 1e3 / steps,
            "page faults": (after.ru_minflt - before.ru_minflt) / steps,
            "threads busy on average": (user + system) / seconds,
        },
    }


def time_by_kind(trace: Path, kind_of: Mapping[str, str]) -> collections.Counter[str]:
    """Nanoseconds of each kind in a profile; what only waits for others has none."""
    spent: collections.Counter[str] = collections.Counter()
    for plane in jax.profiler.ProfileData.from_file(str(trace)).planes:
        for line in plane.lines:
            for event in line.events:
                if event.name in kind_of:
                    spent[kind_of[event.name]] += event.duration_ns
    return spent


def kinds(hlo: str) -> dict[str, str]:
    """One of `KINDS` for each instruction of a compiled program that computes or moves data."""
    computations: dict[str, list[tuple[str, str, str]]] = {}
    current: list[tuple[str, str, str]] = []
    for line in hlo.splitlines():
        if header := _COMPUTATION.match(line):
            current = computations[header[1]] = []
        elif instruction := _INSTRUCTION.match(line):
            current.append((instruction[1], instruction[2], instruction[3]))
    found = {}
    for instructions in computations.values():
        for name, op, rest in instructions:
            if op == "fusion":
                called = re.search(r"calls=%?([\w.\-]+)", rest)
                ops = {inner for _, inner, _ in computations[called[1]]} if called else set()
            else:
                ops = {op}
            if kind := _kind(ops, rest):
                found[name] = kind
    return found


def _kind(ops: set[str], rest: str) -> str | None:
    """The kind of an instruction with these operations inside; None for control flow and what costs nothing.

    Products of attention are known by the name of their einsum. In a microbatch of one sequence XLA drops it: there
    they count as forward products.
    """
    origin = re.search(r'op_name="([^"]*)"', rest)
    made_by = origin[1] if origin else ""
    if "dot" in ops:
        if re.search(r"b\w+,b\w+->b", made_by):  # the subscripts of an einsum over examples
            return KINDS[3]
        if "transpose(" not in made_by:
            return KINDS[0]
        return KINDS[2] if made_by.endswith("/transpose") else KINDS[1]
    if ops & {"reduce", "reduce-window"}:
        return KINDS[5]
    if ops <= {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"} or ops & {"while", "call"}:
        return None
    return KINDS[6] if ops <= _MOVES else KINDS[4]
