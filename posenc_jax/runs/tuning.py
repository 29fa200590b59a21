"""Training speed of a run with its batches split in other ways: settings timed side by side.

Nothing is written, and nothing is chosen: the settings are part of a result's identity.
"""

import dataclasses
import itertools
import math
import statistics
import time
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from posenc_jax.config import Run, Training
from posenc_jax.data.corpora.corpus import UnfitError
from posenc_jax.data.text.base import TextData, TextTask
from posenc_jax.data.text.sizing import check_filled
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.machine import devices_with_memory
from posenc_jax.runs.preflight import check_memory, check_run, refuse_several_processes
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.supply import Supply, batches_of, load_filling
from posenc_jax.training.layout import layout_of
from posenc_jax.training.replicas import Program, make_mesh, put_state, stack
from posenc_jax.training.step import init_params, init_state, train_call

GAIN = 0.03
"""A smaller one is not told from noise."""

SEARCHES = (("microbatches", 2), ("length_strata", 2), ("steps_per_call", 4))
"""The settings, and the factor from one value to the next."""


@dataclasses.dataclass(frozen=True)
class Timed:
    """One setting: seconds to compile its programs, median milliseconds of a step of one replica, and its speed over
    the config's own, both timed at the same time (or each beside a third).
    """

    training: Training
    compile_seconds: float
    milliseconds: float
    speed: float


def tune(config: Run, seconds: float = 10.0, reporter: Reporter | None = None) -> Iterator[Timed]:
    """Times the run's own setting and others around it: its own one first, each as it is timed, and at last the
    fastest beside the own one.

    One setting after the other is doubled (steps per call: times four), or else halved, for as long as that makes a
    step at least `GAIN` faster than the best before it. Both take turns, so that a busy machine slows both.

    Args:
      seconds: how long each pair is timed, besides compiling.

    Raises:
      RefusedError: this machine cannot train the run as it is.
    """
    reporter = reporter or Reporter()
    refuse_several_processes("tuning")
    check_run(config)
    data = load_filling(config, reporter.note) if isinstance(config.task, TextTask) else None

    def trial(training: Training) -> _Trial:
        reporter.phase(f"{config.table} {config.label}: {settings(training)}")
        return _Trial(dataclasses.replace(config, training=training), data)

    own = best = trial(config.training)
    alone = True
    for (field, factor), up in itertools.product(SEARCHES, (True, False)):
        if not up and getattr(best.training, field) != getattr(own.training, field):
            continue  # more of it was faster
        while (training := _changed(best.run, data, field, factor, up)) is not None:
            other = trial(training)
            _take_turns(best, other, seconds)
            if alone:
                yield own.timed(1.0)
            alone = False
            yield other.timed(best.speed * best.milliseconds / other.milliseconds)
            if other.milliseconds > (1 - GAIN) * best.milliseconds:
                other.close()
                break
            if best is not own:
                best.close()
            best = other
    reporter.phase(f"{config.table} {config.label}: the first beside the fastest")
    _take_turns(own, best, seconds)
    if alone:
        yield own.timed(1.0)
    yield best.timed(own.milliseconds / best.milliseconds)
    own.close()
    best.close()


def settings(training: Training) -> str:
    """The settings in words."""
    return ", ".join(f"{field} {getattr(training, field)}" for field, _ in SEARCHES)


def _changed(run: Run, data: TextData | None, field: str, factor: int, up: bool) -> Training | None:
    """The next setting in a direction, or None where there is none that this run, its data and this machine allow."""
    training, value = run.training, getattr(run.training, field)
    if field == "steps_per_call":
        value = training.steps_at_once  # what there is of it
    if not up and value < factor:
        return None
    new = value * factor if up else value // factor
    changed = {field: new}
    if field == "length_strata":
        changed["microbatches"] = math.lcm(training.microbatches, new)
    try:
        other = dataclasses.replace(run, training=dataclasses.replace(training, **changed))
        check_memory(other)
        if data is not None:
            assert isinstance(other.task, TextTask)
            check_filled(other.task, batches_of(other), data.sizes)
    except (ValueError, RefusedError, UnfitError):
        return None
    if field == "steps_per_call" and other.training.steps_at_once == training.steps_at_once:
        return None
    return other.training


class _Trial:
    """A group of the run in training, and the times of its calls."""

    def __init__(self, run: Run, data: Any) -> None:
        self.run, self.training = run, run.training
        size = layout_of(run, len(run.replicas), devices_with_memory()).size
        group = list(itertools.islice(itertools.cycle(run.replicas), size))
        self.seeds = [seed for seed, _ in group]
        self.mesh = make_mesh(run.execution, size)
        states = [init_state(run, init_params(run, seed), seed, rate) for seed, rate in group]
        self.state = put_state(stack(states), self.mesh)
        self.supply = Supply(run, data)
        self.programs: dict[Any, Program] = {}
        self.step, self.compile_seconds, self.speed = 0, 0.0, 1.0
        self.times: list[float] = []

    def call(self) -> None:
        """One call; the first of each program, which compiles, is not timed."""
        begun = time.perf_counter()
        fed = self.supply.feed(self.seeds, self.step, self.mesh)
        width = None if fed is None else jax.tree.leaves(fed)[0].shape[2]
        new = width not in self.programs
        if new:
            self.programs[width] = self._program(fed)
        self.state, metrics = self.programs[width](self.state, self.supply.arrays(self.mesh), fed)
        np.asarray(metrics["loss"])
        passed, steps = time.perf_counter() - begun, self.training.steps_at_once
        self.step += steps
        if new:
            self.compile_seconds += passed
        else:
            self.times.append(1e3 * passed / steps / len(self.seeds))

    def _program(self, fed: Any) -> Program:
        run, execution = self.run, self.run.execution
        sharded = self.mesh if execution.split else None
        arrays = self.supply.arrays(self.mesh)
        call = lambda state, fed, data: train_call(run, sharded, state, fed, data)  # noqa: E731
        return Program("train", call, execution, self.mesh, self.state, arrays, fed=fed, donate=True)

    @property
    def milliseconds(self) -> float:
        """Milliseconds of a step of one replica: the median."""
        return statistics.median(self.times)

    def timed(self, speed: float) -> Timed:
        """The timed setting."""
        self.speed = speed
        return Timed(self.training, self.compile_seconds, self.milliseconds, speed)

    def close(self) -> None:
        """Ends what reads ahead, and lets go of programs and state."""
        self.supply.close()
        self.programs.clear()
        self.state = None


def _take_turns(a: _Trial, b: _Trial, seconds: float) -> None:
    """Times both anew, call by call, three calls of each at least."""
    for each in (a, b):
        each.times.clear()
        while not each.times:  # compiled, and warm
            each.call()
        each.times.clear()
    begun = time.monotonic()
    while min(len(a.times), len(b.times)) < 3 or time.monotonic() - begun < seconds:
        a.call()
        b.call()
