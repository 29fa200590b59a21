"""Associative recall: keys and values in a sequence, and keys again whose values are to be named."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import LONGEST, MANY, Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited


@dataclasses.dataclass(frozen=True)
class RecallTask(RangedTask):
    """Base class: the smaller half of the tokens are keys, the other values; targets are values.

    Attributes:
      vocabulary: number of tokens, even.
      num_pairs: keys of an example. Token 0 is never a key.
    """

    min_length: int = 64
    max_length: int = 64
    vocabulary: int = 8192
    num_pairs: int = 8

    length_unit = "tokens"
    limits = limited(vocabulary=at_least(4, most=LONGEST), num_pairs=MANY)

    def check_fields(self) -> None:
        super().check_fields()
        name = type(self).__name__
        if self.vocabulary % 2 or self.vocabulary < 2 * (self.num_pairs + 1):
            raise ValueError(
                f"{name}: vocabulary = {self.vocabulary} must be even and at least {2 * (self.num_pairs + 1)}: half of "
                "it are values, the other half, but for token 0, keys, and no key belongs to two pairs"
            )
        if self.min_length % 2 or self.max_length % 2:
            raise ValueError(
                f"{name}: min_length = {self.min_length} and max_length = {self.max_length} must be even: tokens come "
                "in pairs"
            )

    @property
    def chance(self) -> float:  # type: ignore[override]
        return 1 / self.num_pairs

    @property
    def vocab_size(self) -> int:
        return self.vocabulary

    @property
    def train_lengths(self) -> range:
        return range(self.min_length, self.max_length + 1, 2)

    def check_length(self, length: int) -> None:
        super().check_length(length)
        if length % 2:
            raise ValueError(f"length {length}: {self.name} has pairs of tokens, so lengths are even")

    def width(self, max_length: int) -> int:
        return max_length

    def _keys(self, key: Array) -> Array:
        half = self.vocabulary // 2
        return 1 + _different(key, self.num_pairs, half - 1)


@dataclasses.dataclass(frozen=True)
class AssociativeRecall(RecallTask):
    """Multi-query associative recall (MQAR): ``k_1 v_1 ... k_m v_m`` and, later, each key again: ``k -> v``.

    A sequence of n tokens begins with m pairs of different keys and different values. The rest has room for
    ``(n - 2 m) / 2`` questions, one at every second index. Each of the m keys is asked for once, at indices drawn
    without repetition, index j = 1, 2, ... with weight ``j ** (power - 1)``. All other tokens there are random ones.

    Attributes:
      min_length, max_length: tokens n of a sequence, even, at least 4 ``num_pairs``; 64 to 512 in the source.
      vocabulary: number of tokens, 8192 in the source.
      num_pairs: m, 4 to 64 in the source.
      power: its power law, 0.01 in the source, 1 for uniform indices.

    Published is the accuracy over questions. To name any value of the sequence has 1/m.

    >>> task = AssociativeRecall(min_length=12, max_length=12, vocabulary=20, num_pairs=2)
    >>> task.describe(task.example(jax.random.key(0), 12, 12))
    '3 16 8 17 3 [16] 15 8 [17] 12 12 12 14 1'

    Reference: Arora et al., "Zoology: Measuring and Improving Recall in Efficient Language Models", 2023, section 4 and
    appendix; HazyResearch/zoology, multiquery_ar.
    """

    power: float = 0.01

    name = "associative_recall"
    citation = """@inproceedings{arora2024zoology, author = {Arora and others}, title = {{Zoology: Measuring and
        Improving Recall in Efficient Language Models}}, booktitle = {ICLR}, year = {2024}, eprint = {2312.04927}}"""

    @property
    def least_length(self) -> int:
        """Pairs, and an index for each question."""
        return 4 * self.num_pairs

    def check_fields(self) -> None:
        super().check_fields()
        if not 0 < self.power <= 1:
            raise ValueError(
                f"AssociativeRecall: power = {self.power} must be above 0 and at most 1, the uniform distribution"
            )

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        key_key, value_key, index_key, filler_key = jax.random.split(key, 4)
        pairs, half = self.num_pairs, self.vocabulary // 2
        keys = self._keys(key_key)
        values = half + _different(value_key, pairs, half)
        asked_at = 2 * (pairs + self._indices(index_key, length, max_length))
        tokens = jnp.asarray(integers(filler_key, (max_length,), self.vocabulary))
        tokens = tokens.at[: 2 * pairs].set(jnp.stack([keys, values], axis=1).reshape(-1)).at[asked_at].set(keys)
        answers = jnp.zeros_like(tokens).at[asked_at].set(values)
        asked = jnp.zeros(max_length, bool).at[asked_at].set(True)
        return answered(tokens, answers, asked, length)

    def _indices(self, key: Array, length: Array, max_length: int) -> Array:
        """``[num_pairs]`` different indices of questions, drawn without replacement by Gumbel noise."""
        index = jnp.arange(max_length // 2 - self.num_pairs)
        noise = jax.random.gumbel(key, index.shape, jnp.float32)
        scores = noise + (self.power - 1) * jnp.log1p(index.astype(jnp.float32))
        there = index < length // 2 - self.num_pairs
        return jax.lax.top_k(jnp.where(there, scores, -jnp.inf), self.num_pairs)[1]


@dataclasses.dataclass(frozen=True)
class RepeatedRecall(RecallTask):
    """Name the value that a key had N assignments ago, where keys get new values again and again (MQRAR-N).

    A sequence is n/2 pairs ``k v``: each key is one of ``num_pairs`` keys of the example, drawn uniformly, each value a
    random one. From the (N+1)th pair with a key on, the value of its pair N pairs with this key before is predicted at
    the key, where the new value is not yet known: N = 1 is the latest one.

    Attributes:
      min_length, max_length: tokens n of a sequence, even; 768 in the source.
      vocabulary: number of tokens.
      num_pairs: keys of an example, 32 in the source.
      back: N, 1 to 4 in the source.

    Published is the accuracy over questions. ``chance`` is that of any of all values; naming one of the key's own
    earlier values is right more often, the fewer there are.

    >>> task = RepeatedRecall(min_length=16, max_length=16, vocabulary=20, num_pairs=2)
    >>> task.describe(task.example(jax.random.key(0), 16, 16))
    '8 11 3 19 3 [19] 14 8 [11] 16 8 [16] 18 8 [18] 17 3 [14] 18 8 [17] 10'

    The source shows results in a figure, and we know of no generator of it: settings are those of its text, the form of
    a sequence is our reading of "the value N assignments back".

    Reference: Yang et al., "PaTH Attention: Position Encoding via Accumulating Householder Transformations", 2025,
    section 4.1 and figure 2.
    """

    min_length: int = 768
    max_length: int = 768
    num_pairs: int = 32
    back: int = 1

    name = "repeated_recall"
    citation = """@inproceedings{yang2025path, author = {Yang and others}, title = {{PaTH Attention: Position
        Encoding via Accumulating Householder Transformations}}, booktitle = {NeurIPS}, year = {2025},
        eprint = {2505.16381}}"""
    limits = limited(**RecallTask.limits, back=MANY)
    shortcut = "any earlier value of the key"

    @property
    def chance(self) -> float:  # type: ignore[override]
        return 2 / self.vocabulary

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        """With K pairs of a key, ``E[sum_(i=back)^(K-1) 1/i] / E[max(K - back, 0)]``: i values are earlier."""
        from scipy.special import bdtr  # binomial; jax brings scipy along

        def score(length: int) -> float:
            earlier = np.arange(self.back, length // 2)
            more = 1 - bdtr(earlier, length // 2, 1 / self.num_pairs)  # the probability of K > i
            return float(np.sum(more / earlier) / np.sum(more))

        return sum(map(score, lengths)) / len(lengths)

    @property
    def least_length(self) -> int:
        """Room for a question even if all keys are drawn in turn."""
        return 2 * (self.num_pairs * self.back + 1)

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        key_key, turn_key, value_key = jax.random.split(key, 3)
        half, count = self.vocabulary // 2, max_length // 2
        chosen = integers(turn_key, (count,), self.num_pairs)
        values = half + integers(value_key, (count,), half)
        # Sorted by key, then by index, the pair N before stands N entries before.
        order = jnp.argsort(chosen, stable=True)
        before = jnp.roll(order, self.back)
        there = (jnp.arange(count) >= self.back) & (chosen[order] == chosen[before])
        answers = jnp.zeros(count, jnp.int32).at[order].set(values[before])
        asked = jnp.zeros(count, bool).at[order].set(there)

        def in_turn(first: Array, second: Array) -> Array:
            return jnp.pad(jnp.stack([first, second], axis=1).reshape(-1), (0, max_length % 2))

        tokens = in_turn(self._keys(key_key)[chosen], values)
        return answered(tokens, in_turn(answers, answers), in_turn(asked, jnp.zeros_like(asked)), length)


def _different(key: Array, count: int, limit: int) -> Array:
    """``[count]`` different numbers in ``0 .. limit-1`` in random order.

    Floyd's way: for each j of ``limit - count .. limit - 1`` a number of ``0 .. j`` is drawn, and where that is taken
    already, j is. Few numbers of many cost no sort of all.
    """
    draw_key, order_key = jax.random.split(key)
    last = limit - count + jnp.arange(count)
    draws = integers(draw_key, (count,), last + 1)

    def choose(chosen: Any, drawn: Any) -> tuple[Any, None]:
        index, draw, otherwise = drawn
        taken = jnp.any(chosen == draw)
        return chosen.at[index].set(jnp.where(taken, otherwise, draw)), None

    chosen, _ = jax.lax.scan(choose, jnp.full(count, -1), (jnp.arange(count), draws, last))
    return jax.random.permutation(order_key, chosen)
