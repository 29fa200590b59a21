"""Sizes that the text of a corpus can fill: its vocabulary, its lengths and its batches, found together."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_jax.data.errors import DataError, UnfitError
from posenc_jax.data.plan import Buckets, Packing, least_rows
from posenc_jax.data.text.base import Data, Row, TextTask
from posenc_jax.data.text.loading import tokenizer_of, vocabularies
from posenc_jax.data.tokenizer import LEAST_PIECES, Tokenizer, VocabularyError, of_two_sides

# Rows of a batch that are worth more than long ones.
ENOUGH = 8
# Where the steps of a call are of one width.
BY_WIDTH = ("buckets", "fitted")


@dataclasses.dataclass(frozen=True)
class Batches:
    """Batches of a run's training examples: fields of its `Training`, with ``steps_per_call`` the steps of one call,
    the seeds that order the examples, and the devices that divide the rows of a microbatch.
    """

    batch_size: int
    microbatches: int = 1
    steps_per_call: int = 1
    seeds: tuple[int, ...] = (0,)
    devices: int = 1


@dataclasses.dataclass(frozen=True)
class Sizes:
    """A task and its batches that a corpus can fill.

    Attributes:
      wrong: why the corpus does not give what was asked -> what that was.
      changed: all that differs from what was asked, field -> (asked, here). Fields as a run names them:
        "data.vocab_size", "training.batch_size".
    """

    task: TextTask
    batches: Batches
    wrong: dict[str, dict[str, Any]]
    changed: dict[str, tuple[Any, Any]]

    def __str__(self) -> str:
        """All that is wrong, and one set of values that works, in a line."""
        wrong = ", ".join(f"{_listed(fields, ' and ')} ({why})" for why, fields in self.wrong.items())
        values = _listed({field: now for field, (_, now) in self.changed.items()}, ", ")
        fewer = any(now == "bytes" or (isinstance(now, int) and now < was) for was, now in self.changed.values())
        return f"{self.task.data.name} does not suit {wrong}: set {values}{', or use more text' * fewer}"


def check_filled(task: TextTask, batches: Batches, sizes: np.ndarray) -> None:
    """UnfitError for training examples of these ``sizes`` that do not fill one batch, or one call, of every seed."""
    try:
        for seed in batches.seeds:
            plan = task.plan(sizes, seed, batches.batch_size, batches.microbatches)
            if isinstance(plan, Buckets):
                plan.steps_per_epoch(batches.steps_per_call)
            if not isinstance(plan, Packing) or least_rows(plan) >= batches.batch_size:
                return  # the seed decides nothing
    except ValueError as error:
        raise UnfitError(f"{task.data.name}: {error}") from None


def sized(
    task: TextTask, batches: Batches, texts: Mapping[str, list[Row]], tokenizer: Tokenizer | None = None
) -> Sizes:
    """The sizes nearest to those asked that the texts can fill.

    A vocabulary goes down to what the text gives, or to bytes. Lengths and lists go to where every split has an
    example. Then calls become shorter and batches smaller; rather than fewer than `ENOUGH` rows, rows are shorter.

    Args:
      texts: the rows of each split.
      tokenizer: what they are to be read with (None: what the task asks for).

    Raises:
      DataError: the text is too little for any sizes; it says how much is needed.
    """
    asked: tuple[TextTask, Batches] = (task, batches)
    wrong: dict[str, dict[str, Any]] = {}
    if tokenizer is None:
        task, tokenizer = with_vocabularies(task, texts["train"], wrong)
    if lacking := _lacking(task, tokenizer, texts):
        before, (task, why) = task, task.suited(tokenizer, texts, lacking)
        wrong[why] = {field: was for field, (was, _) in _differing(before, task).items()}
        if lacking := _lacking(task, tokenizer, texts):
            raise DataError(
                f"{task.data.name} has no text in its {' and '.join(lacking)} split that task {task.name!r} can use: "
                "each split needs at least one example that is not empty; use more text"
            )
    try:
        check_filled(task, batches, _training_sizes(task, tokenizer, texts))
    except UnfitError as error:
        why = str(error).removeprefix(f"{task.data.name}: ").partition(": ")[0]
        wrong[why] = {"training.batch_size": batches.batch_size}
        task, batches = _filled(task, batches, tokenizer, texts)
    changed = _differing(asked[0], task) | _differing(asked[1], batches, "training.")
    return Sizes(task, batches, wrong, changed)


def with_vocabularies(task: TextTask, train: list[Row], wrong: dict[str, dict[str, Any]]) -> tuple[TextTask, Tokenizer]:
    """The task with vocabularies that its text gives, and its tokenizer; ``wrong`` gains those that it does not."""
    made: list[Tokenizer] = []
    for side, (data, texts) in enumerate(vocabularies(task, train)):
        lines, field, asked = list(texts), ("data.vocab_size", "task.target_vocab_size")[side], data.vocab_size
        fewest, most = 0, None
        while len(made) == side:
            try:
                made.append(tokenizer_of(data, lines))
            except VocabularyError as error:
                fewest, most = error.fewest or fewest, error.most or most
                if data.vocab_size == asked:
                    of = "targets" if side else "text"
                    why = f"its {of} give{'s' * (not side)} at most {most} pieces"
                    wrong[why if most else f"its characters and bytes are {fewest} ids"] = {field: asked}
                data = _in_reach(data, fewest, most)
                task = task.with_vocabulary(side, data)
    return task, of_two_sides(*made) if len(made) == 2 else made[0]


def _in_reach(data: Data, fewest: int, most: int | None) -> Data:
    """The settings with a vocabulary in hundreds that a text of ``fewest`` to ``most`` pieces gives, or of bytes."""
    least = max(fewest, LEAST_PIECES)
    if most is None:
        return dataclasses.replace(data, vocab_size=-(-least // 100) * 100)
    if most < least:
        return dataclasses.replace(data, tokenizer="bytes")
    return dataclasses.replace(data, vocab_size=max(most // 100 * 100, least))


def _lacking(task: TextTask, tokenizer: Tokenizer, texts: Mapping[str, list[Row]]) -> list[str]:
    """The splits without an example that the task can take as it is."""
    found = []
    for name, rows in texts.items():
        try:
            if not len(task.encode(tokenizer, rows, training=name != "test").records):
                found.append(name)
        except UnfitError:
            found.append(name)
    return found


def _filled(
    task: TextTask, batches: Batches, tokenizer: Tokenizer, texts: Mapping[str, list[Row]]
) -> tuple[TextTask, Batches]:
    """The first rows, from those asked to narrower ones, that fill a batch of `ENOUGH`, else the largest batch."""
    best: tuple[TextTask, Batches] | None = None
    for narrower in task.narrower():
        sizes = _training_sizes(narrower, tokenizer, texts)
        found = next((smaller for smaller in _smaller(task, batches) if _fills(narrower, smaller, sizes)), None)
        if found and (best is None or found.batch_size > best[1].batch_size):
            best = narrower, found
        if found and found.batch_size >= min(ENOUGH, batches.batch_size):
            break
    if best is None and task.batching in BY_WIDTH:  # a batch of short examples has many rows
        return _filled(dataclasses.replace(task, batching="plain"), batches, tokenizer, texts)
    if best is None:
        raise DataError(
            f"{task.data.name} has {len(_training_sizes(task, tokenizer, texts))} training examples, and "
            f"execution.data = {batches.devices} needs as many rows in a batch: use more text, or fewer devices"
        )
    return best


def _smaller(task: TextTask, batches: Batches) -> Iterator[Batches]:
    """These batches, then others with shorter calls, and with fewer rows."""
    longest = batches.steps_per_call
    calls = [n for n in range(longest, 0, -1) if longest % n == 0] if task.batching in BY_WIDTH else [longest]
    for parts in dict.fromkeys((batches.microbatches, 1)):
        unit, size = parts * batches.devices, batches.batch_size
        while size >= unit:
            for steps in calls:
                rows = size // unit * unit
                yield dataclasses.replace(batches, batch_size=rows, microbatches=parts, steps_per_call=steps)
            size = size // 2 if size // 2 >= unit or size == unit else unit


def _fills(task: TextTask, batches: Batches, sizes: np.ndarray) -> bool:
    try:
        check_filled(task, batches, sizes)
    except UnfitError:
        return False
    return True


def _training_sizes(task: TextTask, tokenizer: Tokenizer, texts: Mapping[str, list[Row]]) -> np.ndarray:
    return task.encode(tokenizer, texts["train"], training=True).records.sizes()


def _differing(before: Any, after: Any, prefix: str = "task.") -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    for field in dataclasses.fields(before):
        was, now = getattr(before, field.name), getattr(after, field.name)
        if isinstance(was, Data):
            found |= _differing(was, now, "data.")
        elif was != now:
            found[f"{prefix}{field.name}"] = (was, now)
    return found


def _listed(fields: Mapping[str, Any], between: str) -> str:
    return between.join(f"{field} = {value!r}" for field, value in fields.items())
