"""What the fields of a task alone cannot tell: asked before anything is written or compiled."""

from __future__ import annotations

import difflib
import functools

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax import extras
from posenc_jax.data.json_tokenizer import JSON
from posenc_jax.data.reading import READING
from posenc_jax.data.tasks.base import Task
from posenc_jax.data.text.base import TextTask
from posenc_jax.data.text.loading import check_source, tokenizer_of_file
from posenc_jax.data.tokenizer import PIECES
from posenc_jax.encodings.base import Array

SAMPLE = 64
"""Examples looked at."""


def check_task(task: Task) -> None:
    """Refuses a task on text whose corpus or tokenizer is not there or does not fit (DataError) or that needs packages
    which are not installed (MissingExtraError), and a generated one that leaves its vocabulary or has no such score as
    its headline (ValueError).
    """
    if isinstance(task, TextTask):
        check_packages(task)
        check_source(task)
        for data in (task.data, task.target_data):
            if data is not None and data.tokenizer_file is not None:
                tokenizer_of_file(data)
    else:
        check_metric(task)
        check_vocabulary(task)


_SCORES = ("accuracy", "exact_match", "loss")


def check_metric(task: Task) -> None:
    """Refuses a headline score (ValueError) that no result will have, which only the end of a training would show."""
    own = type(task).results is not Task.results or type(task).extra_sums is not Task.extra_sums
    if task.metric not in _SCORES and not own:
        near = difflib.get_close_matches(task.metric, _SCORES, n=1)
        raise ValueError(
            f"task {task.name!r} has metric = {task.metric!r}, and its results have {', '.join(_SCORES)}: "
            f"{f'did you mean {near[0]}?' if near else 'name one of them, or report it from `results`'}"
        )


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
