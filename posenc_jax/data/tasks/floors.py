"""Floors of a task's scores: what an answer gets that does not look at the input."""

import collections
import dataclasses
import functools
from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.example import Example
from posenc_jax.data.score_kinds import kind_of
from posenc_jax.data.scoring import means, scores
from posenc_jax.data.tasks.base import Task
from posenc_jax.encodings.interface.base import Array

COUNTED = 16_384
"""Examples of a length in which answers are counted, and as many others on which they are scored."""
_LOGITS = 2**22  # of a chunk of examples


def floors(task: Task, lengths: Iterable[int]) -> dict[int, float]:
    """Length -> the score of the best answer that does not look at the input.

    That is `Task.chance_at`, or `majority_score` where it is better by three standard errors of a share.
    """
    higher, found, lengths = kind_of(task.metric).better == "higher", {}, tuple(lengths)
    for length in lengths:
        floor, majority = task.chance_at(length), majority_score(task, length, max(lengths), COUNTED)
        if majority is not None:
            score, count = majority
            better = score - floor if higher else floor - score
            floor = score if better > 3 * (score * (1 - score) / count) ** 0.5 else floor
        found[length] = floor
    return found


@functools.lru_cache(maxsize=1024)
def majority_score(task: Task, length: int, longest: int, count: int) -> tuple[float, int] | None:
    """The score at a length of the most frequent answer, and the number of examples that were scored.

    The most frequent first, second, ... target and the most frequent whole answer are counted in ``count`` examples,
    both are scored on as many others by the task's own score, and the better one counts. None for tasks with data, for
    scores without a best value and for a length without examples.

    Args:
      longest: the longest of the lengths that are asked for, whose padding they share, and so the compiled program.
      count: a power of two.
    """
    kind = kind_of(task.metric)
    if kind.highest is None or type(task).test_batch is not Task.test_batch:
        return None
    padded = task.padded_length(longest)
    size = max(task.width(padded), task.decoder_width(padded)) * (1 if _plain(task) else task.num_classes)
    chunk = 1 << min(count, max(1, _LOGITS // size)).bit_length() - 1
    keys, numbers = jax.random.split(jax.random.key(0)), np.arange(count).reshape(-1, chunk)
    answers = np.concatenate([_answers(_examples(task, padded, keys[0], length, own)) for own in numbers])
    in_turn = np.array([np.bincount(own[own >= 0], minlength=1).argmax() for own in answers.T], np.int32)
    ((whole, _),) = collections.Counter(own.tobytes() for own in answers if own[0] >= 0).most_common(1) or [(b"", 0)]
    if not whole:
        return None
    at_once, found = np.frombuffer(whole, np.int32), []
    examples = [_examples(task, padded, keys[1], length, own) for own in numbers]
    for answer in (in_turn, np.where(at_once >= 0, at_once, in_turn)):
        parts = [_sums(task, own, answer) for own in examples]
        mean = means({name: sum(part[name] for part in parts) for name in parts[0]})
        result = mean if _plain(task) else task.results({name: np.asarray(value) for name, value in mean.items()})
        found.append((float(result[task.metric]), int(result["count"])))
    return (max if kind.better == "higher" else min)(found)


def _plain(task: Task) -> bool:
    """True if all that counts of a target is whether it is right."""
    return task.metric in ("accuracy", "exact_match")


@functools.partial(jax.jit, static_argnums=(0, 1))
def _examples(task: Task, padded: int, key: Array, length: int, numbers: Array) -> Example:
    return task.test_batch(None, key, jnp.int32(length), numbers, padded)


def _answers(example: Example) -> np.ndarray:
    """``[N, S]``: the targets that are asked for, in their order, then -1."""
    asked, targets = np.asarray(example.weights) != 0, np.asarray(example.targets, np.int32)
    return np.take_along_axis(np.where(asked, targets, -1), np.argsort(~asked, axis=-1, kind="stable"), axis=-1)


@functools.partial(jax.jit, static_argnums=0)
def _sums(task: Task, example: Example, answer: Array) -> dict[str, Array]:
    """The sums of examples in which target number i that is asked for gets ``answer[i]``, wherever it stands."""
    given = answer[jnp.maximum(jnp.cumsum(example.weights != 0, axis=-1) - 1, 0)]
    if _plain(task):
        right = jax.nn.one_hot((example.targets == given).astype(jnp.int32), 2)
        return scores(right, dataclasses.replace(example, targets=jnp.ones_like(given)))
    logits = jax.nn.one_hot(given, task.num_classes)
    return scores(logits, example) | task.extra_sums(logits, example)
