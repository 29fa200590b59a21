"""A thread that compiles the programs of cells to come while one trains."""

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Self

from posenc_jax.config import Run
from posenc_jax.data.text.base import TextTask
from posenc_jax.runs.machine import devices_with_memory
from posenc_jax.runs.programs import KnownPrograms, Uncompiled, UncompiledPrograms, replicas_of
from posenc_jax.runs.state import abstract_state
from posenc_jax.runs.supply import Supply
from posenc_jax.training.batches import buckets
from posenc_jax.training.layout import in_one_memory, layout_of
from posenc_jax.training.processes import count
from posenc_jax.training.replicas import Program


class Ahead:
    """Compiles ahead of runs, one program after the other; leaving it waits for the one that is being compiled.

    Compiling mostly uses one core, and no result depends on when it happens. It serves CPUs only: the compiler for a
    GPU times kernels on it, which a training would disturb.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "ahead")
        self._left = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._left = True
        self._pool.shutdown(cancel_futures=True)

    def prepare(self, config: Run, known: KnownPrograms) -> None:
        """Compiles the programs of a cell that no other thread compiles. Tasks on text need their data first, so it
        skips them. Errors are left to the cell, which meets them again.
        """
        if not isinstance(config.task, TextTask):
            self._pool.submit(self._prepare, config, known)

    def _prepare(self, config: Run, known: KnownPrograms) -> None:
        devices = devices_with_memory()
        if not devices.on_cpu or count() > 1:
            return
        size = layout_of(config, len(config.replicas), devices).size
        state = abstract_state(config, size)
        parts, replicas = UncompiledPrograms(config, Supply(config, None), size, known), replicas_of(state)
        _, at_once = in_one_memory(config.execution, size, devices)
        coming = [parts.train(state, None), parts.validate(replicas)]
        found = buckets(config, config.evaluation.lengths, at_once, devices.backend)
        coming += [parts.evaluate(own, replicas) for own in found]
        for part in coming:
            if self._left:
                return
            known.make(_timed(part, known))


def _timed(part: Uncompiled, known: KnownPrograms) -> Uncompiled:
    """The part, whose seconds are written down before anybody has its program."""

    def make() -> Program:
        begun = time.perf_counter()
        program = part.make()
        known.ahead[part.key] = time.perf_counter() - begun
        return program

    return dataclasses.replace(part, make=make)
