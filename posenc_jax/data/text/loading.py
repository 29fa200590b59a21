"""Makes arrays of a named corpus: reads it, trains a tokenizer on the training split, tokenizes and sorts."""

import dataclasses
import functools
import itertools
import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from posenc_jax.data.corpora import CORPORA
from posenc_jax.data.corpora.corpus import content_of
from posenc_jax.data.corpora.derived import derived
from posenc_jax.data.corpora.source import HELD_OUT, Source, load_split
from posenc_jax.data.corpora.store import is_own, manifest
from posenc_jax.data.errors import DataError, UnfitError
from posenc_jax.data.text.base import SPLITS, Data, Encoded, Row, TextData, TextTask, named_as_target
from posenc_jax.data.text.on_demand import OnDemand
from posenc_jax.data.tokenizer import (
    ByteTokenizer,
    JsonTokenizer,
    Tokenizer,
    VocabularyError,
    of_two_sides,
    train_sentencepiece,
)
from posenc_jax.files.user_paths import real

# When training examples are read in turn, the tokenizer is trained on the first so many.
TOKENIZER_EXAMPLES = 200_000
# And so many of the other splits are used.
HELD_EXAMPLES = 10_000
# Of what is measured; raised when a task encodes otherwise.
_MEASURED = 2


def check_source(task: TextTask, split: str = "train") -> None:
    """Refuses (DataError) a corpus or split that is not there, or has other columns, or another structure, than the
    task reads.
    """
    name = task.data.name
    columns = load_split(name, split).columns
    missing = [column for column in task.columns if column not in columns]
    if missing:
        named = [f"task.{field}" for field, value in vars(task).items() if isinstance(value, str) and value in missing]
        others = f" or say by {' and '.join(named)} which of its columns to read" if named else ""
        raise DataError(
            f"data.name = {task.data.name!r} has the columns {', '.join(columns)}, and task {task.name!r} reads "
            f"{', '.join(task.columns)}: choose another corpus{',' * bool(others)}{others}"
        )
    if is_own(name):
        task.check_facts(manifest(name, verify=False))


def load(
    task: TextTask,
    note: Callable[[str], None] = lambda text: None,
    tokenizer: Tokenizer | None = None,
    splits: tuple[str, ...] = SPLITS,
) -> TextData:
    """The splits of a task's corpus, tokenized; with the given tokenizer, or one trained on the training split.

    Raises:
      DataError: the corpus is not there or is damaged.
      UnfitError: it does not give the vocabulary, or a split has no example that can be used.
    """
    check_source(task, splits[0])
    opened = {name: open_split(task, name) for name in splits}
    source = opened[splits[0]]
    if source.held_out:
        missing = " and no ".join(source.held_out)
        note(f"{task.data.name} has no {missing} split: one in {HELD_OUT} rows of training is held out for it")
    unread = opened.pop("train") if "train" in opened and not task.data.in_memory else None
    texts = {name: list(split) for name, split in opened.items()}
    if tokenizer is None:
        first = texts["train"] if unread is None else itertools.islice(unread, TOKENIZER_EXAMPLES)
        tokenizer = make_tokenizer(task, first)
    encoded = {name: task.encode(tokenizer, split, training=name != "test") for name, split in texts.items()}
    used: dict[str, Encoded | OnDemand] = dict(encoded)
    on_demand = None
    if unread is not None:
        on_demand = open_on_demand(task, tokenizer, unread, note)
        used = {"train": on_demand, **used}
    for name, part in used.items():
        if not _count(part):
            raise UnfitError(
                f"the {name} split of {task.data.name!r} has no example for task.max_length = {task.max_length}: raise "
                "it where examples are longer, lower it where a window is longer than the text, or use more text"
            )
        if part.left_out or part.truncated:
            note(
                f"{task.data.name} {name}: of {_count(part) + part.left_out} examples {part.left_out} are left out as "
                f"empty or too long, {part.truncated} are cut"
            )
    arrays: dict[str, Any] = {name: part.records for name, part in encoded.items()}
    rows: list[Row] = []
    if "validation" in encoded:
        arrays["validation_ids"] = task.validation_ids(encoded["validation"].records.sizes())
    if "test" in encoded:
        test = _sorted(encoded["test"])
        arrays |= {"test": test.records, "test_lengths": test.measure.astype(np.int32)}
        rows = [texts["test"][i] for i in test.kept]
    identity = {
        **_identity(task.data.name, source),
        "tokenizer": tokenizer.sha256,
        **{
            name: {"examples": _count(part), "left_out": part.left_out, "truncated": int(part.truncated)}
            for name, part in used.items()
        },
    }
    sizes = np.zeros(0, np.int32)
    if "train" in used:
        sizes = encoded["train"].records.sizes() if on_demand is None else on_demand.sizes
    return TextData(tokenizer, arrays, rows, identity, sizes, on_demand)


def _count(part: Encoded | OnDemand) -> int:
    return len(part.records) if isinstance(part, Encoded) else len(part)


def identity_of(name: str) -> dict[str, Any]:
    """The identity of the present state of the corpus, without its tokenizer; DataError without it."""
    return json.loads(json.dumps(_identity(name, load_split(name, "train"))))


def _identity(name: str, source: Source) -> dict[str, Any]:
    if name not in CORPORA and not is_own(name):
        held_out = {"held_out": list(source.held_out)} if source.held_out else {}
        return {"name": name, "version": source.version, **held_out}
    return {"name": name, "sha256": manifest(name)["sha256"]}


def open_on_demand(task: TextTask, tokenizer: Tokenizer, split: Source, note: Callable[[str], None]) -> OnDemand:
    """The training examples, to be read when their turn comes; measured by one pass unless that was done before."""

    def measure() -> dict[str, np.ndarray]:
        note(f"{task.data.name}: reading {len(split):,} training examples once, to measure them")
        return kind.measure(task, tokenizer, split, note)

    kind = task.on_demand
    decides = (_MEASURED, _identity(task.data.name, split), len(split), tokenizer.sha256, task)
    return kind(task, tokenizer, split, **derived(repr(decides), measure))


def open_split(task: TextTask, name: str) -> Source:
    """The rows of one split as the task wants them: the first so many, with their words shuffled if it says so."""
    source = load_split(task.data.name, name)
    limit = task.data.max_examples if name == "train" else None if task.data.in_memory else HELD_EXAMPLES
    if limit is not None:
        numbers = np.arange(len(source)) if source.numbers is None else source.numbers
        source = dataclasses.replace(source, numbers=numbers[:limit])
    if task.data.shuffle_words == "always" or (task.data.shuffle_words == "test" and name == "test"):
        source = dataclasses.replace(source, change=functools.partial(shuffled, task))
    return source


def shuffled(task: TextTask, row: Row, number: int) -> Row:
    """An example with the words of each of its inputs in an order that is random but always the same, one space between
    them. Kept where they are, line breaks would make of many words tokens that are rare at the start of a line.
    """
    mixed = dict(row)
    for side, column in enumerate(task.input_columns):
        words = row[column].split()
        # Keys, not counters: counters of one key are places in one stream, so nearby ones share their draws.
        draw = np.random.Philox(key=np.array([number, side], np.uint64)).random_raw(len(words))
        mixed[column] = " ".join(words[i] for i in np.argsort(draw, kind="stable"))
    return mixed


def make_tokenizer(task: TextTask, train: Iterable[Row]) -> Tokenizer:
    """The tokenizer that the task's data asks for, or the two, trained on the training split only."""
    made: list[Tokenizer] = []
    for data, lines in vocabularies(task, train):
        try:
            made.append(tokenizer_of(data, lines))
        except (DataError, ValueError) as error:
            kind = UnfitError if isinstance(error, VocabularyError) else DataError
            said = str(error) if isinstance(error, DataError) else f"data.vocab_size = {data.vocab_size}: {error}"
            raise kind(named_as_target(said) if made else said) from None
    return of_two_sides(*made) if len(made) == 2 else made[0]


def vocabularies(task: TextTask, train: Iterable[Row]) -> list[tuple[Data, Iterable[str]]]:
    """Settings of each vocabulary of the task, that of targets last, with the lines that it is made from."""
    if task.target_data is None:
        return [(task.data, (line for row in train for line in task.tokenizer_lines(row)))]
    rows, (source, target) = list(train), task.columns
    return [(task.data, (row[source] for row in rows)), (task.target_data, (row[target] for row in rows))]


def tokenizer_of(data: Data, lines: Iterable[str]) -> Tokenizer:
    """One tokenizer; of pieces, trained on the lines, which may not give them (ValueError)."""
    if data.tokenizer == "bytes":
        return ByteTokenizer()
    if data.tokenizer_file is not None:
        return tokenizer_of_file(data)
    if data.tokenizer == "checkpoint":
        raise DataError(
            "data.tokenizer = 'checkpoint' is that of an imported run: start from one (init_from), or take 'bpe', "
            "'bytes' or a file"
        )
    return train_sentencepiece([line for line in lines if line], data.vocab_size)


def tokenizer_of_file(data: Data) -> Tokenizer:
    """The tokenizer of a file; DataError unless it is there and has as many ids as the run says."""
    assert data.tokenizer_file is not None
    path = data.tokenizer_file
    if not path.is_file():
        raise DataError(f"data.tokenizer = {data.tokenizer!r}: there is no file {path.absolute()}")
    try:
        found = JsonTokenizer(content_of(real(path), real(path).parent))  # caches hold links
    except DataError as error:
        raise DataError(f"data.tokenizer = {data.tokenizer!r}: {error}") from None
    if found.vocab_size != data.vocab_size:
        raise DataError(
            f"data.vocab_size = {data.vocab_size}, and {path} has {found.vocab_size} ids with our 5 special ones: set "
            f"data.vocab_size to {found.vocab_size}"
        )
    return found


def _sorted(part: Encoded) -> Encoded:
    order = np.argsort(part.measure, kind="stable")
    return dataclasses.replace(
        part, records=part.records.take(order), kept=part.kept[order], measure=part.measure[order]
    )
