"""The share of padding in batches of real text, by the way its rows are filled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from benchmarks.results import Table
from posenc_jax import Training
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.plan import Buckets, Packing
from posenc_jax.data.text import Classification, Data, Summarization, Translation
from posenc_jax.data.text.base import TextTask
from posenc_jax.data.text.loading import load

Way = Literal["plain", "buckets", "fitted", "packed"]
_WAYS: tuple[Way, ...] = ("plain", "buckets", "fitted", "packed")
TASKS: dict[str, tuple[TextTask, Training]] = {  # the settings of experiments/*/small.py, and how they cut a batch
    "translation, help/en-de": (
        Translation(data=Data(name="own/help-en-de", vocab_size=2000), max_length=32, row=64),
        Training(batch_size=24, microbatches=4),
    ),
    "summaries, descriptions/summaries": (
        Summarization(data=Data(name="own/descriptions-summaries", vocab_size=2000), max_length=64, row=256),
        Training(batch_size=12, microbatches=4),
    ),
    "classes, help/modules": (
        Classification(data=Data(name="own/help-modules", vocab_size=2000), max_length=256, row=256),
        Training(batch_size=16, microbatches=2),
    ),
}


def padding(
    tasks: Mapping[str, tuple[TextTask, Training]] = TASKS, calls: tuple[int, ...] = (1, 25)
) -> Iterator[Table]:
    """The share of padding in an epoch, for each ``task.batching``, in the plans of runs.

    SystemExit: a corpus is not prepared.
    """
    rows: dict[str, tuple[float | None, ...]] = {}
    for name, (task, training) in tasks.items():
        try:
            sizes = load(task, splits=("train",)).sizes
        except DataError as error:
            raise SystemExit(str(error)) from None
        for count in calls:
            rows[f"{name}, {count} steps a call"] = tuple(empty(task, way, training, count, sizes) for way in _WAYS)
    yield Table(
        title="Padding of real text",
        about="Share of padding in training batches, all sides of the model together",
        first="task and corpus",
        columns=dict.fromkeys(_WAYS, "{:.1%}"),
        rows=rows,
    )


def empty(task: TextTask, way: Way, training: Training, count: int, sizes: np.ndarray) -> float | None:
    """The share with one way; None where the task refuses it."""
    try:
        changed = dataclasses.replace(task, batching=way)
    except ValueError:
        return None
    plan = changed.plan(sizes, 0, training.batch_size, training.microbatches)
    if isinstance(plan, Buckets):
        return plan.padding_fraction(count)
    if isinstance(plan, Packing):
        return plan.padding_fraction()
    sides = 1 if sizes.ndim == 1 else sizes.shape[1]
    return 1 - float(sizes.sum()) / (len(sizes) * sides * task.row)
