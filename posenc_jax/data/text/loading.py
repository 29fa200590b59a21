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
from posenc_jax.data.text.base import SPLITS, Encoded, Row, TextData, TextTask
from posenc_jax.data.tokenizer import ByteTokenizer, Tokenizer, train_sentencepiece


def check_source(task: TextTask, split: str = "train") -> None:
    """Refuses (DataError) a corpus or split that is not there, or has other columns than the task reads."""
    name = task.data.name
    columns = load_source(name, split).columns
    missing = [column for column in task.columns if column not in columns]
    if missing:
        raise DataError(
            f"data.name = {task.data.name!r} has the columns {', '.join(columns)}, and task {task.name!r} reads "
            f"{', '.join(task.columns)}: choose another corpus, or other columns"
        )


def load(
    task: TextTask, note: Callable[[str], None], tokenizer: Tokenizer | None = None, names: tuple[str, ...] = SPLITS
) -> TextData:
    """The named splits of a task's corpus, tokenized.

    Raises:
      DataError: the corpus is not there, is damaged, or a split has no example that can be used.
    """
    check_source(task, names[0])
    splits = {name: read_split(task, name) for name in names}
    tokenizer = tokenizer or make_tokenizer(task, splits["train"])
    encoded = {name: task.encode(tokenizer, split, training=name != "test") for name, split in splits.items()}
    for name, part in encoded.items():
        if not len(part.records):
            raise DataError(
                f"the {name} split of {task.data.name!r} has no example of up to {task.max_length} tokens: "
                "raise task.max_length"
            )
        if part.left_out or part.truncated:
            note(
                f"{task.data.name} {name}: of {len(splits[name])} examples {part.left_out} are left out as empty or "
                f"too long, {part.truncated} are cut"
            )
    arrays: dict[str, Any] = {name: part.records for name, part in encoded.items()}
    rows: list[Row] = []
    if "validation" in encoded:
        arrays["validation_ids"] = task.validation_ids(encoded["validation"].records.sizes())
    if "test" in encoded:
        test = _sorted(encoded["test"])
        arrays |= {"test": test.records, "test_lengths": test.measure.astype(np.int32)}
        rows = [splits["test"][i] for i in test.kept]
    identity = {
        **_identity(task.data.name),
        "tokenizer": tokenizer.sha256,
        **{
            name: {"examples": len(part.records), "left_out": part.left_out, "truncated": part.truncated}
            for name, part in encoded.items()
        },
    }
    sizes = encoded["train"].records.sizes() if "train" in encoded else np.zeros(0, np.int32)
    return TextData(tokenizer, arrays, rows, identity, sizes)


def _identity(name: str) -> dict[str, Any]:
    if name not in CORPORA:
        return {"name": name}
    record = manifest(name)
    return {"name": name, "sha256": record["sha256"], "packages": record["packages"]}


def read_split(task: TextTask, name: str) -> list[Row]:
    """The rows of one split."""
    limit = task.data.max_examples if name == "train" else None
    split = list(itertools.islice(load_source(task.data.name, name), limit))
    if task.data.shuffle_words == "always" or (task.data.shuffle_words == "test" and name == "test"):
        split = [shuffled(task, row, number) for number, row in enumerate(split)]
    return split


def shuffled(task: TextTask, row: Row, number: int) -> Row:
    """An example with the words of each of its inputs in an order that is random but always the same."""
    mixed = dict(row)
    for side, column in enumerate(task.input_columns):
        words = row[column].split()
        draw = np.random.Philox(key=number, counter=side).random_raw(len(words))
        mixed[column] = " ".join(words[i] for i in np.argsort(draw, kind="stable"))
    return mixed


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
