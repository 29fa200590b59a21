"""Flip-flop language modelling: one bit of memory, and everything between to be ignored."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.data.scoring import correct_tokens, shares, sums_by_group
from posenc_jax.data.tasks.base import LONGEST, Example, Split, Task, integers
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited

ZERO, ONE, WRITE, READ, IGNORE = range(5)
# What test examples of the three shares of ignored instructions are called in scores.
KINDS = ("", "sparse_", "dense_")


@dataclasses.dataclass(frozen=True)
class FlipFlop(Task):
    """Say the bit that was written last: ``w 0 i 1 i 1 r -> 0``, where instructions and bits stand in turn.

    The first instruction is ``w`` (write), the last one ``r`` (read); each between is ``i`` (ignore) with probability
    ``ignore``, else ``w`` or ``r`` with equal ones. Bits after ``w`` and ``i`` are random, the bit after ``r`` is that
    after the last ``w``: it is predicted at every ``r``, and nothing else is.

    Attributes:
      length: tokens of a sequence, T, even; the one length of training.
      ignore: probability of ``i`` in training, 0.8 in the source.
      sparse_ignore, dense_ignore: those of the other two sets of test examples, 0.98 and 0.1.

    Every third test example is of one set. A result has the published score, the share of wrong bits, by set:
    ``read_error`` (as in training), ``sparse_read_error`` (few reads, far from their writes: the headline) and
    ``dense_read_error``; guessing has 0.5. Loss, accuracy and exact match of a tested length are over all three sets.
    Learning rates are chosen by accuracy on examples as in training.

    Tokens: 0, 1, ``w`` 2, ``r`` 3, ``i`` 4. A sequence is read without its last bit.

    >>> task = FlipFlop(length=16, ignore=0.2)
    >>> task.describe(task.example(jax.random.key(1), 16, 16))
    'w 0 r [0] 0 w 0 i 1 r [0] 0 w 1 i 0 r [1]'

    Departure: the source draws a training set once; here examples are drawn without end.

    Errors: ValueError for an odd length or one below 4, and for probabilities outside 0 .. 1.

    Reference: Liu et al., "Exposing Attention Glitches with Flip-Flop Language Modeling", 2023, section 3, definition 1
    and section 4; the table that is compared with is table 1 of Yang et al., "PaTH Attention", 2025.
    """

    length: int = 512
    ignore: float = 0.8
    sparse_ignore: float = 0.98
    dense_ignore: float = 0.1

    name = "flip_flop"
    citation = """@inproceedings{liu2023exposing, author = {Liu and others}, title = {{Exposing Attention Glitches with
        Flip-Flop Language Modeling}}, booktitle = {NeurIPS}, year = {2023}, eprint = {2306.00946}}
        @inproceedings{yang2025path, author = {Yang and others}, title = {{PaTH Attention: Position Encoding via
        Accumulating Householder Transformations}}, booktitle = {NeurIPS}, year = {2025}, eprint = {2505.16381},
        annote = {table}}"""
    metric = "sparse_read_error"
    chance = 0.5
    shortcut = "the bit before, whatever its instruction"
    length_unit = "tokens"
    limits = limited(length=at_least(4, most=LONGEST))
    model_kind = "decoder_only"
    token_names = ("0", "1", "w", "r", "i")
    vocab_size = len(token_names)
    num_classes = 2

    def check_fields(self) -> None:
        super().check_fields()
        if self.length % 2:
            raise ValueError(
                f"FlipFlop: length = {self.length} must be even and at least 4, a write and a read with their bits"
            )
        for field in ("ignore", "sparse_ignore", "dense_ignore"):
            if not 0 <= getattr(self, field) <= 1:
                raise ValueError(f"FlipFlop: {field} = {getattr(self, field)} must be a probability, from 0 to 1")

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        """Wrong in half of the cases in which the instruction before is to be ignored; at 4 tokens it is a write."""
        return sum(self.sparse_ignore / 2 * (length > 4) for length in lengths) / len(lengths)

    @property
    def note(self) -> str:
        return (
            f"read_error, sparse_read_error and dense_read_error are the shares of wrong bits at {self.ignore:g}, "
            f"{self.sparse_ignore:g} and {self.dense_ignore:g} ignored instructions; other scores are over all three"
        )

    @property
    def train_lengths(self) -> tuple[int, ...]:
        return (self.length,)

    def check_length(self, length: int) -> None:
        super().check_length(length)
        if length < 4 or length % 2:
            raise ValueError(f"length {length}: a flip-flop sequence has an even number of tokens, at least 4")

    def width(self, max_length: int) -> int:
        return max_length - 1

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """An example with the share of ignored instructions of training."""
        return self._drawn(key, jnp.float32(self.ignore), jnp.int32(0), length, max_length)

    def test_example(self, key: Array, index: Array, length: Array, max_length: int) -> Example:
        """A test example; the sets take turns."""
        key = jax.random.fold_in(jax.random.fold_in(key, length), index)
        group = jnp.asarray(index, jnp.int32) % 3
        shares = jnp.asarray([self.ignore, self.sparse_ignore, self.dense_ignore], jnp.float32)
        return self._drawn(key, shares[group], group, length, max_length)

    def _drawn(self, key: Array, ignore: Array, group: Array, length: Array, max_length: int) -> Example:
        bit_key, ignore_key, write_key = jax.random.split(key, 3)
        count = (max_length + 1) // 2
        position = jnp.arange(count)
        ignored = jax.random.uniform(ignore_key, (count,), jnp.float32) < ignore
        instruction = jnp.where(ignored, IGNORE, WRITE + integers(write_key, (count,), 2))
        instruction = jnp.where(position == 0, WRITE, jnp.where(position == length // 2 - 1, READ, instruction))
        drawn = integers(bit_key, (count,), 2)
        last = jax.lax.cummax(jnp.where(instruction == WRITE, position, 0))
        bits = jnp.where(instruction == READ, drawn[last], drawn)
        width = self.width(max_length)
        tokens = jnp.stack([instruction, bits], axis=1).reshape(-1)[:width]
        answers = jnp.stack([bits, jnp.zeros_like(bits)], axis=1).reshape(-1)[:width]
        example = answered(tokens, answers, tokens == READ, length - 1)
        return dataclasses.replace(example, group=group)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """Wrong bits and reads of each set."""
        right = correct_tokens(logits, example.targets)
        wrong = jnp.where(example.weights > 0, example.weights * (~right).astype(example.weights.dtype), 0)
        found = {"wrong_bits": wrong, "reads": example.weights}
        return {name: sums_by_group(jnp.sum(values, axis=1), example.group, 3) for name, values in found.items()}

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with the error of each set; None where a set has no read."""
        rest = {name: value for name, value in scores.items() if name not in ("wrong_bits", "reads")}
        return rest | shares([f"{kind}read_error" for kind in KINDS], scores["wrong_bits"], scores["reads"])
