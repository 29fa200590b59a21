"""The base of tasks on real text: their corpus, its conversion to arrays, and batches of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.example import Example
from posenc_jax.data.plan import Buckets, Packing, Plain, fitted_widths, order, packed
from posenc_jax.data.records import Records, compose_rows
from posenc_jax.data.tasks.base import LONGEST, MANY, Task
from posenc_jax.data.text.on_demand import Examples, OnDemand, Windows
from posenc_jax.data.tokenizer import LEAST_PIECES, ByteTokenizer, Tokenizer
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import Value, at_least, limited
from posenc_jax.files.user_paths import full

SPLITS = ("train", "validation", "test")
BatchPlan = Packing | Buckets | Plain
Row = dict[str, str]
# The share of the texts that `TextTask.spanning` keeps on each side.
NEARLY_ALL = 0.95
_GOLDEN = 0.6180339887


@dataclasses.dataclass(frozen=True)
class Data(Value):
    """A corpus and its tokenizer.

    Attributes:
      name: a corpus of `posenc data list` ("grammar/en-de", "own/plays") or a data set of TensorFlow Datasets
        ("wmt14_translate/de-en"). The defaults are corpora that `experiments/corpora` makes.
      tokenizer: "bpe" (sentencepiece, trained on the training split), "bytes", a file of the package tokenizers, such
        as "my/tokenizer.json", or "checkpoint": the tokenizer of the imported run that the run starts from (init_from),
        for language modelling.
      vocab_size: number of pieces of "bpe" or of the file, including our 5 special ones, or number of rows of the
        checkpoint's table; at most 1048576.
      max_examples: use only this many training examples, the first ones (None: all).
      shuffle_words: whether the words of an input are in a random order: "never", in the "test" split, or "always" (in
        training too); the order of an example is always the same.
      in_memory: False reads each training example when it is needed, for a corpus larger than memory: one pass measures
        the examples, the tokenizer is trained on the first 200,000, and the other splits have at most 10,000. Where
        these limits change nothing, the batches are the same.
    """

    name: str = "own/help-en-de"
    tokenizer: str = "bpe"
    vocab_size: int = 4000
    max_examples: int | None = None
    shuffle_words: Literal["never", "test", "always"] = "never"
    in_memory: bool = True

    limits = limited(vocab_size=MANY, max_examples=at_least(1, ", or None for all"))
    part_of_run = "data"

    def check_fields(self) -> None:
        if self.tokenizer not in ("bpe", "bytes", "checkpoint") and self.tokenizer_file is None:
            raise ValueError(
                f"data.tokenizer = {self.tokenizer!r} is not 'bpe', 'bytes', 'checkpoint' or a file that ends in .json"
            )
        if self.tokenizer == "bpe" and self.vocab_size < LEAST_PIECES:
            raise ValueError(
                f"data.vocab_size = {self.vocab_size} is too small: 5 special tokens and 256 bytes come first; take "
                f"{LEAST_PIECES} or more"
            )

    @property
    def num_tokens(self) -> int:
        """Size of the vocabulary."""
        return ByteTokenizer().vocab_size if self.tokenizer == "bytes" else self.vocab_size

    @property
    def tokenizer_file(self) -> Path | None:
        """The file of the tokenizer, where it is one."""
        return full(self.tokenizer, "data.tokenizer") if self.tokenizer.endswith(".json") else None


@dataclasses.dataclass(frozen=True)
class Encoded:
    """A split as tokens.

    Attributes:
      records: the examples that are used.
      kept: ``[n]`` their numbers in the split.
      measure: ``[n]`` their lengths in the task's own measure.
      left_out: how many were too long.
      truncated: how many were cut.
    """

    records: Records
    kept: np.ndarray
    measure: np.ndarray
    left_out: int = 0
    truncated: int = 0


@dataclasses.dataclass(frozen=True)
class TextData:
    """A corpus ready for training.

    Attributes:
      tokenizer: what made the tokens.
      arrays: what programs are given: the records of each split, the numbers of the validation batches, the lengths of
        the test examples.
      test_rows: the test examples as text, in the order of their records.
      identity: what decides the arrays (names, hashes, counts), for the record of a run.
      sizes: ``[n]`` or ``[n, 2]`` tokens that the training examples take (none without the training split).
      on_demand: the training examples where they are not in memory (and not in ``arrays``).
    """

    tokenizer: Tokenizer
    arrays: dict[str, Any]
    test_rows: list[Row]
    identity: dict[str, Any]
    sizes: np.ndarray
    on_demand: OnDemand | None = None


@dataclasses.dataclass(frozen=True)
class TextTask(Task):
    """Base class of the tasks on text.

    Attributes:
      data: the corpus and its tokens.
      max_length: the longest training example, in tokens of its input.
      row: tokens of a row of a training batch. Both up to 1048576.
      batching: "packed" fills a row with several examples, each a segment of its own; "buckets" gives each row one
        example and each batch one width, ``row`` or a half or a quarter of it, with as many more rows; "fitted" does so
        with up to ten widths that leave the least padding for this corpus (each takes a program) and as many rows as
        make equal microbatches, on one device a replica; "plain" has one example in each row.

    An evaluated length ``n`` stands for the test examples longer than ``n // 2`` and up to ``n``, so that 16, 32 and
    64 share none.
    """

    data: Data = Data()
    max_length: int = 64
    row: int = 128
    batching: Literal["packed", "buckets", "fitted", "plain"] = "packed"

    limits = limited(max_length=MANY, row=MANY)
    part_of_run = "task"
    max_per_row: ClassVar[int] = 16
    columns: ClassVar[tuple[str, ...]] = ()
    input_columns: ClassVar[tuple[str, ...]] = ()
    # A package of the extra `text` that the scores need.
    scored_with: ClassVar[str | None] = None
    on_demand: ClassVar[type[Examples] | type[Windows]] = Examples
    reads_checkpoints: ClassVar[bool] = False
    # The tokens by which answers begin and end.
    ids = AnswerIds()

    def check_fields(self) -> None:
        super().check_fields()
        needed = self.widest
        if self.row < needed:
            raise ValueError(
                f"task.row = {self.row} tokens do not hold an example of task.max_length = {self.max_length} tokens, "
                f"which takes {needed}: set task.row to {needed} or more"
            )
        if self.data.tokenizer == "checkpoint" and not self.reads_checkpoints:
            raise ValueError(
                f"data.tokenizer = 'checkpoint' has no separators of ours, which task {self.name!r} needs: take 'bpe', "
                "'bytes' or a file, or task 'language_model', 'masked_language_model' or 'translation'"
            )
        if self.batching == "buckets" and self.row % 4:
            raise ValueError(f"task.row = {self.row} must be a multiple of 4 with batching = 'buckets'")

    def check_facts(self, facts: Mapping[str, Any]) -> None:
        """Refuses (DataError) a corpus of the user's whose manifest says that this task cannot read it; any is read."""

    @property
    def target_data(self) -> Data | None:
        """The tokens of the targets of pairs, where they have a vocabulary of their own."""
        return None

    @property
    def one_vocabulary(self) -> bool:
        return self.target_data is None

    def with_vocabulary(self, side: int, data: Data) -> TextTask:
        """The task with the vocabulary of its only side, or of the inputs (0), as ``data`` says, or of targets (1)."""
        if side == 0:
            return dataclasses.replace(self, data=data)
        own: Any = {"target_tokenizer": data.tokenizer, "target_vocab_size": data.vocab_size}
        return dataclasses.replace(self, **own)

    def suited(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], lacking: list[str]) -> tuple[TextTask, str]:
        """The task with lengths, or lists, under which the splits that are ``lacking`` examples have some, and why it
        was changed; DataError where the text is too little for any.
        """
        return self, ""

    def spanning(self, tokenizer: Tokenizer, texts: Mapping[str, list[Row]], longest: int) -> TextTask:
        """The task with the lengths, up to ``longest`` tokens, that nearly all texts fit into."""
        raise NotImplementedError

    def narrower(self) -> Iterator[TextTask]:
        """The task, then with rows of a half, a quarter, ... of their tokens, down to what holds an example."""
        least, row = in_fours(self.widest), self.row
        yield self
        while row > least:
            row = max(in_fours(row // 2), least)
            yield dataclasses.replace(self, row=row)

    def lengthened(self, **changes: Any) -> TextTask:
        """The task with other lengths, and rows that hold them."""
        found = dataclasses.replace(self, row=LONGEST, **changes)
        return dataclasses.replace(found, row=max(self.row, in_fours(found.widest)))

    @property
    def widest(self) -> int:
        """Tokens of a row that holds the longest training example, on the wider side of the model."""
        return max(self.width(self.max_length), self.decoder_width(self.max_length))

    @property
    def vocab_size(self) -> int:
        return self.data.num_tokens

    @property
    def num_classes(self) -> int:
        return (self.target_data or self.data).num_tokens

    @property
    def train_lengths(self) -> tuple[int, ...]:
        """The shortest and the longest that training has."""
        return (1, self.max_length)

    def check_strata(self, count: int) -> None:
        """Refuses strata other than 1: the plan of the batches knows the lengths of the texts."""
        if count > 1:
            raise ValueError(
                f"training.length_strata = {count} is for generated tasks: set it to 1; {self.name!r} has "
                "task.batching = 'packed' and 'fitted' against padding"
            )

    def check_division(self, count: int) -> None:
        """Refuses a division other than 1 of fitted batches, whose examples must not depend on the devices."""
        if count > 1 and self.batching == "fitted":
            raise ValueError(
                f"execution.data = {count} divides the rows of every batch, and task.batching = 'fitted' has batches "
                "of any number of rows: take 'packed' or 'buckets', or set execution.data to 1"
            )

    def check_curriculum(self, every: int, steps: int) -> None:
        """Refuses a curriculum other than 0: the plan of the batches knows the lengths of the texts."""
        if every:
            raise ValueError(
                f"training.curriculum_every = {every} is for generated tasks: set it to 0 for {self.name!r}"
            )

    def lengths_of(self, length: int) -> tuple[int, int]:
        """The upper half of ``1 .. length``."""
        return (length // 2 + 1, length)

    def num_positions(self, lengths: tuple[int, ...]) -> int:
        """Rows of training that hold one example each are ``row`` tokens wide."""
        needed = super().num_positions(lengths)
        return needed if self.batching == "packed" else max(needed, self.row)

    @property
    def validation_metric(self) -> str:
        return "accuracy"

    def text_scores(self, outputs: list[str], examples: list[Row]) -> dict[str, float]:
        """Scores of decoded outputs (tasks that write text)."""
        raise NotImplementedError

    def tokenizer_lines(self, row: Row) -> list[str]:
        """The texts of an example, for training a tokenizer."""
        raise NotImplementedError

    def encode(self, tokenizer: Tokenizer, split: list[Row], *, training: bool) -> Encoded:
        """A split as tokens; training leaves out (or cuts) what is too long for it."""
        raise NotImplementedError

    def plan(self, sizes: np.ndarray, seed: int, batch_size: int, parts: int = 1) -> BatchPlan:
        """The examples of the batch of each step, whose rows make ``parts`` equal parts."""
        if self.batching == "packed":
            return Packing(sizes, self.capacities(sizes), self.max_per_row, batch_size, seed)
        if self.batching == "buckets":
            return Buckets(sizes, (self.row // 4, self.row // 2, self.row), batch_size, seed, parts=parts)
        if self.batching == "fitted":
            widths = fitted_widths(sizes, self.row, batch_size, parts)
            return Buckets(sizes, widths, batch_size, seed, self.row, parts)
        return Plain(len(sizes), batch_size, seed)

    def validation_ids(self, sizes: np.ndarray) -> np.ndarray:
        """``[R, G]`` examples of every row of the validation split, the same for all seeds."""
        mixed = order(len(sizes), 0, 0)
        if self.batching != "packed":
            return mixed[:, None].astype(np.int32)
        return packed(sizes, self.capacities(sizes), self.max_per_row, mixed)

    def capacities(self, sizes: np.ndarray) -> int | tuple[int, ...]:
        """Slots of a row on each side."""
        return self.row if sizes.ndim == 1 else (self.row,) * sizes.shape[1]

    def feed(self, plan: BatchPlan, step: int, count: int) -> Array:
        """``[count, B, G]`` numbers of the examples of ``count`` steps."""
        batches = plan.batches(step, count)
        return batches[1] if isinstance(batches, tuple) else batches

    def train_batch(self, data: Any, fed: Any, key: Array, batch_size: int) -> Example:
        """The examples that the plan chose for this step."""
        ids, records = (fed, data["train"]) if self.data.in_memory else (fed.ids, fed.records)
        width = self.row * batch_size // ids.shape[0]
        return compose_rows(records, ids, width, width)

    def validation_batch(self, data: Any, key: Array, index: Array, batch_size: int) -> Example:
        """Batch ``index`` of the validation split; without weight beyond its end."""
        ids = data["validation_ids"]
        numbers = index * batch_size + jnp.arange(batch_size)
        chosen = jnp.where((numbers < len(ids))[:, None], ids[jnp.minimum(numbers, len(ids) - 1)], -1)
        return compose_rows(data["validation"], chosen, self.row, self.row)

    def test_batch(self, data: Any, key: Array, length: Array, indices: Array, max_length: int) -> Example:
        """Test examples of more than ``length // 2`` and up to ``length`` tokens, in a mixed order."""
        ids = test_ids(data["test_lengths"], length, indices)
        return compose_rows(data["test"], ids[:, None], self.width(max_length), self.decoder_width(max_length))


class PairTask(TextTask):
    """Base class of the tasks that write a target for a source, two columns of the corpus."""

    source: str
    target: str

    writes_text = True

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.source, self.target)

    @property
    def input_columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.source,)

    def tokenizer_lines(self, row: Row) -> list[str]:
        return [row[self.source], row[self.target]]

    def pairs(self, tokenizer: Tokenizer, rows: list[Row]) -> list[tuple[list[int], list[int]]]:
        """The tokens of both sides of each row."""
        sources = tokenizer.encode_all([row[self.source] for row in rows])
        return list(zip(sources, tokenizer.target.encode_all([row[self.target] for row in rows]), strict=True))


def length_of_most(lengths: Iterable[float], share: float = 0.75) -> float:
    """The length that this share of the examples does not exceed: with two bounds of 0.75, half of the examples keep
    both.
    """
    return float(np.quantile(list(lengths), share, method="higher"))


def in_fours(tokens: float) -> int:
    """The tokens, rounded up to a multiple of 4."""
    return int(-(-tokens // 4) * 4)


def is_packed(task: Task) -> bool:
    """True if rows of training hold several sequences, each a segment with positions from 0."""
    return isinstance(task, TextTask) and task.batching == "packed"


def named_as_target(message: str) -> str:
    """A message about `TextTask.target_data` with the names that its fields have in the task."""
    return message.replace("data.vocab_size", "task.target_vocab_size").replace(
        "data.tokenizer", "task.target_tokenizer"
    )


def test_ids(lengths: Array, length: Array | np.integer, indices: Array) -> Array:
    """``[C]`` numbers of the test examples with ``length // 2 < lengths[i] <= length``, -1 beyond the last.

    ``lengths [n]`` are ascending; short and long ones come mixed.
    """
    first = jnp.searchsorted(lengths, length // 2, side="right")
    number = mixed(indices, jnp.searchsorted(lengths, length, side="right") - first)
    return jnp.where(number >= 0, first + number, -1).astype(jnp.int32)


def mixed(indices: Array, count: Array) -> Array:
    """``[C]`` int32: ``0 .. count-1`` in a fixed mixed order, -1 beyond the last.

    Multiples, modulo the count, of the first number from its golden section on that has no divisor in common with it:
    however few are taken, they lie evenly over the whole.
    """
    count = jnp.asarray(count).astype(jnp.uint32)
    modulus = jnp.maximum(count, 1)
    candidates = jnp.floor(_GOLDEN * count).astype(jnp.uint32) + jnp.arange(64, dtype=jnp.uint32)
    stride = candidates[jnp.argmax(jnp.gcd(candidates, modulus) == 1)] % modulus
    number = jnp.asarray(indices).astype(jnp.uint32)

    def bit(i: Array, product: Array) -> Array:  # a product of two 31-bit numbers would not fit into 32 bits
        return (2 * product + ((number >> (30 - i).astype(jnp.uint32)) & 1) * stride) % modulus

    at = jax.lax.fori_loop(0, 31, bit, jnp.zeros_like(number)).astype(jnp.int32)
    return jnp.where(number < count, at, -1)


test_ids.__test__ = False  # type: ignore[attr-defined]  # not a pytest test
