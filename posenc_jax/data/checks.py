"""Checks of a task that its fields alone cannot make, run before anything is written or compiled."""

import difflib
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax import extras
from posenc_jax.data.metric import Metric, with_metrics
from posenc_jax.data.tasks.base import Task
from posenc_jax.data.text.base import TextTask
from posenc_jax.data.text.loading import check_source, tokenizer_of_file
from posenc_jax.data.text.on_demand import READING
from posenc_jax.data.tokenizer import JSON, PIECES
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import WrongReturnError

# Examples looked at.
SAMPLE = 64


def check_task(task: Task) -> None:
    """Refuses a task on text whose corpus or tokenizer is not there or does not fit (DataError) or that needs packages
    which are not installed (MissingExtraError), and a generated one that leaves its vocabulary (ValueError).
    """
    if isinstance(task, TextTask):
        check_packages(task)
        check_source(task)
        for data in (task.data, task.target_data):
            if data is not None and data.tokenizer_file is not None:
                tokenizer_of_file(data)
    else:
        check_vocabulary(task)


def check_scores(task: Task, metrics: Sequence[Metric], sums: Mapping[str, Any]) -> None:
    """Asks for the scores of sums that are all 1, which only the end of a training would ask for.

    Refuses a metric whose score is no number, results that are no dict (both WrongReturnError) and a generated task
    whose headline score no result has (ValueError); lets through what a metric or a task raises.

    Args:
      sums: their own, by name, as shapes and dtypes.
    """
    ones: dict[str, Any] = {name: np.ones(sum.shape, sum.dtype)[()] for name, sum in sums.items()}
    found = task.results(with_metrics(metrics, dict.fromkeys(_SCORES, np.float32(1)) | ones))
    if not isinstance(found, Mapping):
        raise WrongReturnError(
            f"{type(task).__name__}.results returns {type(found).__name__}, and results are a dict of scores by name: "
            "write return {**scores, ...}"
        )
    if isinstance(task, TextTask) or task.metric in found:
        return
    names = [name for name, value in found.items() if name != "count" and not np.ndim(value)]
    near = difflib.get_close_matches(task.metric, names, n=1)
    raise ValueError(
        f"task {task.name!r} has metric = {task.metric!r}, and its results have {', '.join(names)}: "
        f"{f'did you mean {near[0]}?' if near else 'name one of them, or report it from `results`'}"
    )


_SCORES = ("accuracy", "exact_match", "loss", "count")


def check_packages(task: TextTask) -> None:
    """Refuses (MissingExtraError) what the end of a long training would miss, a package for its scores, too."""
    if task.data.tokenizer == "bpe":
        extras.check("text", "sentencepiece", PIECES)
    if task.data.tokenizer_file is not None:
        extras.check("text", "tokenizers", JSON)
    if not task.data.in_memory:
        extras.check("text", "grain", READING)
    if task.scored_with is not None:
        extras.check("text", task.scored_with, f"scores of {task.name}")


def check_vocabulary(task: Task) -> None:
    """Refuses a task (ValueError) whose tokens or targets, in a sample of its training, are not ``0 .. size-1``: beyond
    it an embedding would silently give its last row.
    """
    sample = np.asarray(_extremes(task))
    for (smallest, largest), (what, field) in zip(sample, (("token", "vocab_size"), ("target", "num_classes"))):
        size = getattr(task, field)
        if smallest < 0 or largest >= size:
            raise ValueError(
                f"task {task.name!r} makes {what} {smallest if smallest < 0 else largest}, and its {field} = {size} "
                f"allows 0 to {size - 1}: correct its example, or its {field}"
            )


@functools.partial(jax.jit, static_argnames="task", compiler_options={"xla_backend_optimization_level": 0})
def _extremes(task: Task) -> Array:
    batch = task.train_batch(None, None, jax.random.key(0), SAMPLE)
    tokens = [batch.inputs.ravel()]
    if batch.decoder_inputs is not None:
        tokens.append(batch.decoder_inputs.ravel())
    # Targets without weight are padding and count nowhere.
    targets = jnp.where(batch.weights > 0, batch.targets, 0)
    return jnp.array([[jnp.min(x), jnp.max(x)] for x in (jnp.concatenate(tokens), targets)])
