"""A whole study of the nearest peer in processor seconds: compile, train, evaluate.

The peer is the code of Ruoss et al. 2023 (google-deepmind/randomized_positional_encodings); its example trains one
model of 5 layers and d_model 64 for 10,000 steps of 128 sequences, each step of one length in 1 .. 40, and scores
lengths up to 100. What it takes is not measured here: `PEER` has figures read off one core of an AVX-512 Xeon. There
this package took `OURS_THERE` for a step with lengths padded to 40, with JAX's own gradients of linear layers and GELU.
That step is measured here too, and the peer's figures are scaled by the ratio of the two.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.jax_training import plain_gradients
from benchmarks.processes import Process, Start
from benchmarks.results import Table
from configs.accelerator import even_pairs
from posenc_jax import Ablation, Evaluation, Execution, Optimizer, Run, Training, ablate, parse
from posenc_jax.data.tasks import EvenPairs, ReverseString
from posenc_jax.models import activation, product
from posenc_jax.runs.reporter import Reporter

PEER = {"step": 0.41, "compile": 40 * 4.0 + 60 * 4.0}
"""Processor seconds of even pairs: a step (the mean of lengths 1 to 40); the least its 40 programs of training and its
60 of evaluation (lengths 41 to 100) take to compile, its evaluation itself not counted."""
OURS_THERE = 0.21
TASKS: dict[str, type] = {"even pairs": EvenPairs, "reverse string": ReverseString}
ENCODINGS = {"sinusoidal": "sinusoidal", "randomized": "randomized(max_position=2048)|sinusoidal"}


def study(
    steps: int = 350,
    total: int = 10_000,
    start: Start = Process,
    strata: int = 8,
    tasks: tuple[str, ...] = tuple(TASKS),
    **small: Any,
) -> Iterator[Table]:
    """The cells of the study, each from a run of ``steps``: ``total`` of them at its pace, and what is left of the run.

    Args:
      small: fields of the parts of a run that are others than the peer's.
    """
    rows: dict[str, tuple[float | None, ...]] = {}

    def measured(task: str, posenc: str, then: bool = False) -> tuple[float, float]:
        arguments = {"steps": steps, "strata": 1 if then else strata, "task": task, "posenc": posenc, "then": then}
        process = start("study.seconds", {**arguments, "small": small}, env={"JAX_NUM_CPU_DEVICES": "1"})
        each, rest = process.first
        process.close()
        return each, rest

    padded, _ = measured("even pairs", "sinusoidal", then=True)
    slower = padded / OURS_THERE
    theirs = slower * (total * PEER["step"] + PEER["compile"])
    for task in tasks:
        for name, posenc in ENCODINGS.items():
            each, rest = measured(task, posenc)
            whole = total * each + rest
            rows[f"{task}, {name}"] = (each, rest, whole, theirs / whole if task == "even pairs" else None)
    yield Table(
        title=f"The example of Ruoss et al. 2023, {total} steps and lengths up to 100",
        about=f"Processor seconds on one device, {strata} strata of lengths. A step padded to 40, with JAX's own "
        f"gradients, takes {padded:.3f} s here and took {OURS_THERE} where the peer took {PEER['step']}, so the "
        f"peer is taken to need {theirs:.0f} s here for even pairs; its time for reverse string, whose sequences are "
        "twice as long, is not known",
        first="cell",
        columns={"a step": "{:.3f}", "compile and evaluate": "{:.0f}", "in all": "{:.0f}", "peer over it": "{:.1f}"},
        rows=rows,
    )


class Stamps(Reporter):
    """The processor time at the end of every call of training."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.seconds: list[float] = []
        self._training = False

    def phase(self, text: str, total: int = 0, done: int = 0, unit: str = "steps") -> None:
        """Only steps of training are stamped."""
        self._training = unit == "steps"

    def advance(self, amount: int, text: str = "") -> None:
        """A stamp; with ``advance(0)`` training begins."""
        if self._training:
            self.steps.append(amount)
            self.seconds.append(time.process_time())


def config(steps: int, strata: int, task: str, posenc: str) -> Run:
    """One cell, the model and the batch as in the peer's example.

    Microbatches are as many as are fastest; without strata as for `OURS_THERE`.
    """
    return Run(
        task=TASKS[task](max_length=40),
        model=even_pairs.model,
        posenc=parse(posenc),
        optimizer=Optimizer(schedule="constant"),
        training=Training(
            steps=steps,
            batch_size=128,
            microbatches=16 if strata > 1 else 32,
            length_strata=strata,
            steps_per_call=min(steps, 50),
            log_every=steps,
            checkpoint_every=steps,
        ),
        evaluation=Evaluation(lengths=tuple(range(41, 101)), num_examples=512),
        execution=Execution(mode="map", group_size=1),
        seeds=(0,),
        learning_rates=(1e-3,),
    )


def seconds(
    steps: int, strata: int, task: str, posenc: str, then: bool, small: dict[str, Any]
) -> Iterator[tuple[float, float]]:
    """Processor seconds of a step and of all the rest of a cell, on one core where cores can be chosen.

    Args:
      then: with JAX's own gradients of linear layers and GELU, and evaluated at one length only: its step is what
        counts.
    """
    if hasattr(os, "sched_setaffinity") and not small:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    run = config(steps, strata, task, posenc)
    for part, fields in small.items():
        run = dataclasses.replace(run, **{part: dataclasses.replace(getattr(run, part), **fields)})
    if then:
        run = dataclasses.replace(run, evaluation=dataclasses.replace(run.evaluation, lengths=(41,)))
    gradients = plain_gradients(product, activation) if then else contextlib.nullcontext()
    stamps = Stamps()
    begun = time.process_time()
    with gradients, tempfile.TemporaryDirectory() as directory:
        ablate(Ablation(name="study", runs=(run,)), directory, reporter=stamps)
    whole = time.process_time() - begun
    training = stamps.seconds[-1] - stamps.seconds[0]
    yield training / sum(stamps.steps), whole - training
