"""From a named corpus to arrays: read, train a tokenizer on the training split, tokenize, sort."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from posenc_jax.data.corpora import CORPORA
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.source import load_source
from posenc_jax.data.corpora.store import manifest
from posenc_jax.data.text.base import Encoded, Row, TextData, TextTask
from posenc_jax.data.tokenizer import ByteTokenizer, Tokenizer, train_sentencepiece


def check_source(task: TextTask) -> None:
    """Refuses (DataError) a corpus that is not there, or has other columns than the task reads."""
    name = task.data.name
    columns = manifest(name)["columns"] if name in CORPORA else list(load_source(name, "train")[0])
    missing = [column for column in task.columns if column not in columns]
    if missing:
        raise DataError(
            f"data.name = {task.data.name!r} has the columns {', '.join(columns)}, and task {task.name!r} reads "
            f"{', '.join(task.columns)}: choose another corpus, or other columns"
        )


def load(task: TextTask, note: Callable[[str], None], tokenizer: Tokenizer | None = None) -> TextData:
    """The corpus of a task, tokenized.

    Raises:
      DataError: it is not there, is damaged, or a split has no example that can be used.
    """
    check_source(task)
    splits = {name: read_split(task, name) for name in ("train", "validation", "test")}
    tokenizer = tokenizer or make_tokenizer(task, splits["train"])
    encoded = {
        name: task.encode(tokenizer, split, training=name != "test") for name, split in splits.items()
    }
    for name, part in encoded.items():
        if not len(part.records):
            raise DataError(
                f"the {name} split of {task.data.name!r} has no example of up to {task.max_length} tokens: "
                "raise task.max_length"
            )
        if part.left_out or part.truncated:
            note(
                f"{task.data.name} {name}: of {len(splits[name])} examples {part.left_out} are left out as too long, "
                f"{part.truncated} are cut"
            )
    test = _sorted(encoded["test"])
    arrays = {
        "train": encoded["train"].records,
        "validation": encoded["validation"].records,
        "validation_ids": task.validation_ids(encoded["validation"].records.sizes()),
        "test": test.records,
        "test_lengths": test.measure.astype(np.int32),
    }
    identity = {
        **_identity(task.data.name),
        "tokenizer": tokenizer.sha256,
        **{
            name: {"examples": len(part.records), "left_out": part.left_out, "truncated": part.truncated}
            for name, part in encoded.items()
        },
    }
    rows = [splits["test"][i] for i in test.kept]
    return TextData(tokenizer, arrays, rows, identity, encoded["train"].records.sizes())


def _identity(name: str) -> dict[str, Any]:
    if name not in CORPORA:
        return {"name": name}
    record = manifest(name)
    return {"name": name, "sha256": record["sha256"], "packages": record["packages"]}


def read_split(task: TextTask, name: str) -> list[Row]:
    """The rows of one split."""
    limit = task.data.max_examples if name == "train" else None
    return list(itertools.islice(load_source(task.data.name, name), limit))


def make_tokenizer(task: TextTask, train: list[Row]) -> Tokenizer:
    """The tokenizer that the task's data asks for, trained on the training split only."""
    if task.data.tokenizer == "bytes":
        return ByteTokenizer()
    lines = [line for row in train for line in task.tokenizer_lines(row) if line]
    try:
        return train_sentencepiece(lines, task.data.vocab_size)
    except ValueError as error:
        raise DataError(f"data.vocab_size = {task.data.vocab_size}: {error}") from None


def _sorted(part: Encoded) -> Encoded:
    """The examples by length, equal ones as they were."""
    order = np.argsort(part.measure, kind="stable")
    records = part.records
    types = None
    if records.types is not None:
        types = dataclasses.replace(records.inputs, tokens=records.types).take(order).tokens
    taken = dataclasses.replace(
        records,
        inputs=records.inputs.take(order),
        targets=None if records.targets is None else records.targets.take(order),
        given=None if records.given is None else records.given[order],
        types=types,
        labels=None if records.labels is None else records.labels[order],
    )
    return dataclasses.replace(part, records=taken, kept=part.kept[order], measure=part.measure[order])
