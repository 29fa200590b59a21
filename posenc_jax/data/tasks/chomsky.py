"""Nine tasks of the Chomsky hierarchy benchmark of Delétang et al. 2023, and what all fifteen have in common.

Each task is a function from a string of ``n`` symbols to a string of outputs. An encoder reads the ``n`` symbols and
one "empty" token per output and predicts all outputs at the empty tokens in one non-causal pass. Token numbers, odd
lengths and the order of outputs are those of the authors' code (google-deepmind/neural_networks_chomsky_hierarchy).
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import MANY, Example, Split, Task, integers
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import limited


@dataclasses.dataclass(frozen=True)
class StringTask(Task):
    """Base class: an encoder-only task on strings of ``num_tokens`` symbols, trained on lengths ``1 .. max_length``.

    Tokens: the symbols ``0 .. num_tokens-1``, then the empty token; padding (segment 0) holds token 0. One length per
    training step, uniform; accuracy is the mean over output tokens, of a task with a ``terminator`` up to and with the
    first one (the authors' loss, unlike their accuracy, also counts the zeros behind it). Subclasses define `problem`
    and class facts.

    Attributes:
      max_length: the longest length that training draws, up to 1048576.

    Errors: ValueError for ``max_length`` below 1 or above 1048576.

    Reference: Delétang et al., "Neural Networks and the Chomsky Hierarchy", 2023.
    """

    max_length: int = 40

    citation = """@inproceedings{deletang2023neural, author = {Delétang and others}, title = {{Neural Networks and
        the Chomsky Hierarchy}}, booktitle = {ICLR}, year = {2023}, eprint = {2207.02098}}"""
    length_per = "step"
    limits = limited(max_length=MANY)
    model_kind = "encoder_only"
    num_tokens: ClassVar[int] = 2
    num_outputs: ClassVar[int] = 2
    terminator: ClassVar[int | None] = None

    @property
    def vocab_size(self) -> int:
        return self.num_tokens + 1

    @property
    def num_classes(self) -> int:
        return self.num_outputs

    @property
    def token_names(self) -> tuple[str, ...]:
        """Symbols by number, the empty token as an underscore."""
        return (*map(str, range(self.num_tokens)), "_")

    @property
    def train_lengths(self) -> range:
        return range(1, self.max_length + 1)

    def width(self, max_length: int) -> int:
        return self.input_length(max_length) + self.output_length(max_length)

    def input_length(self, length: Any) -> Any:
        """Symbols that the model reads for a string of (traced) ``length``."""
        return length

    def output_length(self, length: Any) -> Any:
        """Outputs for a string of (traced) ``length``."""
        return 1

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``(tokens [max_length], outputs [output_length(max_length)])``, not read beyond their lengths."""
        raise NotImplementedError

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        tokens, outputs = self.problem(key, length, max_length)
        num_inputs, num_outputs = self.input_length(length), self.output_length(length)
        position = jnp.arange(self.width(max_length))
        real = position < num_inputs + num_outputs
        empty = real & (position >= num_inputs)
        inputs = jnp.where(empty, self.num_tokens, tokens[jnp.minimum(position, max_length - 1)])
        targets = outputs[jnp.clip(position - num_inputs, 0, outputs.shape[0] - 1)]
        counted = empty
        if self.terminator is not None:
            ends = jnp.cumsum(empty & (targets == self.terminator))
            counted = empty & ((ends == 0) | ((ends == 1) & (targets == self.terminator)))
        return Example(
            inputs=jnp.where(real, inputs, 0).astype(jnp.int32),
            targets=jnp.where(empty, targets.astype(jnp.int32), 0),
            weights=counted.astype(jnp.float32),
            length=jnp.asarray(num_inputs + num_outputs, jnp.int32),
            segment_ids=real.astype(jnp.int32),
        )

    def _symbols(self, key: Array, max_length: int) -> Array:
        return integers(key, (max_length,), self.num_tokens)


@dataclasses.dataclass(frozen=True)
class EvenPairs(StringTask):
    """0 if the pairs 01 and 10 in a binary string are even in number, else 1 (0 for a single symbol)."""

    name = "even_pairs"
    chance = 0.5
    shortcut = "the numbers of zeros and ones alone"

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        """The mean of ``max(p, 1 - p)``, where ``p = 1/2 + ((n_1 - n_0)^2 - n) / (2n (n - 1))`` is the share of strings
        of ``n_0`` zeros and ``n_1`` ones whose ends are equal.
        """
        n, lead = _leads(lengths)
        return float(np.mean(0.5 + abs(lead**2 - n) / np.maximum(2 * n * (n - 1), 1)))

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``output = sum_i [x_i != x_(i+1)] mod 2``, that is ``[x_1 != x_n]``."""
        x = self._symbols(key, max_length)
        return x, (x[0] != x[length - 1])[None]


@dataclasses.dataclass(frozen=True)
class ParityCheck(StringTask):
    """The number of ones in a binary string, mod 2."""

    name = "parity_check"
    chance = 0.5

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``output = sum_i x_i mod 2``."""
        x = self._symbols(key, max_length)
        return x, jnp.sum(_first(x, length), keepdims=True) % 2


@dataclasses.dataclass(frozen=True)
class CycleNavigation(StringTask):
    """The end of a walk from state 0 of a cycle of 5 states: symbol 0 steps back, 1 stays, 2 steps forward."""

    name = "cycle_navigation"
    chance = 0.2
    num_tokens = 3
    num_outputs = 5

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``output = sum_i (x_i - 1) mod 5``."""
        x = self._symbols(key, max_length)
        return x, jnp.sum(_first(x - 1, length), keepdims=True) % 5


@dataclasses.dataclass(frozen=True)
class ModularArithmetic(StringTask):
    """The value, mod 5, of an expression of digits joined by ``+``, ``-`` and ``*``, with multiplication first.

    Tokens 0-4 are digits, 5 is ``+``, 6 ``-``, 7 ``*``; 8, a blank, is in the authors' vocabulary but never drawn. An
    expression has an odd number of symbols: for an even length it has one fewer (n = 2 is a single digit), so that even
    and odd lengths in turn give the same distribution. Departure: products are reduced mod 5 as they grow; the authors'
    can overflow int32 from 16 factors on.
    """

    name = "modular_arithmetic"
    chance = 0.2
    num_tokens = 9
    num_outputs = 5
    token_names = (*"01234+-* ", "_")

    def input_length(self, length: Any) -> Any:
        return length - (length + 1) % 2

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """Each operator and its digit act on (sum of the finished terms, term being multiplied) as an affine map.

        ``+ d: (s, t) -> (s + t, d)``; ``- d: (s, t) -> (s + t, -d)``; ``* d: (s, t) -> (s, t d)``. All are of the form
        ``(s, t) -> (s + a t + b, c t + e)``, and so are their compositions: neighbours are composed until one is left.
        """
        digit_key, operator_key = jax.random.split(key)
        count = 1 << max(max_length // 2 - 1, 0).bit_length()  # a power of two with room for every operator
        digits = integers(digit_key, (count + 1,), 5)
        operators = 5 + integers(operator_key, (count,), 3)
        tokens = jnp.stack([digits, jnp.append(operators, 0)], axis=1).reshape(-1)[:max_length]
        factors, exists = digits[1:], jnp.arange(count) < (length - 1) // 2
        times, starts = exists & (operators == 7), exists & (operators != 7)
        a = starts.astype(jnp.int32)
        c = jnp.where(times, factors, 1 - a)  # an operator that does not exist is the identity: c = 1, the others 0
        e = jnp.where(starts, jnp.where(operators == 6, -factors, factors), 0)
        maps = jnp.stack([a, jnp.zeros_like(a), c, e])
        while maps.shape[1] > 1:
            (fa, fb, fc, fe), (ga, gb, gc, ge) = maps[:, 0::2], maps[:, 1::2]
            maps = jnp.stack([fa + ga * fc, fb + gb + ga * fe, gc * fc, gc * fe + ge]) % 5
        a, b, c, e = maps
        return tokens, ((a + c) * digits[:1] + b + e) % 5


@dataclasses.dataclass(frozen=True)
class _Copied(StringTask):
    """Base class: every symbol of a binary string stands equally often in the output."""

    chance = 0.5
    shortcut = "the most frequent symbol of the string"

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        """The mean share of the more frequent symbol."""
        n, lead = _leads(lengths)
        return float(np.mean(0.5 + abs(lead) / (2 * n)))


@dataclasses.dataclass(frozen=True)
class ReverseString(_Copied):
    """A binary string backwards."""

    name = "reverse_string"

    def output_length(self, length: Any) -> Any:
        return length

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``output_j = x_(n-1-j)``."""
        x = self._symbols(key, max_length)
        return x, x[jnp.maximum(length - 1 - jnp.arange(max_length), 0)]


@dataclasses.dataclass(frozen=True)
class DuplicateString(_Copied):
    """A binary string twice."""

    name = "duplicate_string"

    def output_length(self, length: Any) -> Any:
        return 2 * length

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``output_j = x_(j mod n)``."""
        x = self._symbols(key, max_length)
        return x, x[jnp.arange(2 * max_length) % length]


@dataclasses.dataclass(frozen=True)
class MissingDuplicateString(StringTask):
    """The symbol that is missing from a binary string written twice; token 2 stands for it.

    The string has ``n // 2`` symbols; for odd ``n`` token 3 follows at the end. For ``n = 1``, where nothing can be
    missing, input and output are 1.
    """

    name = "missing_duplicate_string"
    chance = 0.5
    num_tokens = 4

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``tokens_i = x_(i mod h)`` with ``h = n // 2``, but 2 at an index ``m < 2h``; ``output = x_(m mod h)``."""
        symbol_key, index_key = jax.random.split(key)
        x = integers(symbol_key, (max(max_length // 2, 1),), 2)
        half = jnp.maximum(length // 2, 1)
        index = integers(index_key, (), 2 * half)
        position = jnp.arange(max_length)
        tokens = jnp.where(position == index, 2, x[position % half])
        tokens = jnp.where(position >= 2 * half, 3, tokens)
        single = length == 1
        return jnp.where(single, 1, tokens), jnp.where(single, 1, x[index % half])[None]


@dataclasses.dataclass(frozen=True)
class OddsFirst(_Copied):
    """The symbols of a binary string at indices 1, 3, 5, ..., then those at 0, 2, 4, ... (counted from 0).

    That is the authors' code; their description, which counts from 1, has the two halves the other way round.
    """

    name = "odds_first"

    def output_length(self, length: Any) -> Any:
        return length

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``output_j = x_(2j+1)`` for ``j < h = n // 2``, then ``x_(2(j-h))``."""
        x = self._symbols(key, max_length)
        j, half = jnp.arange(max_length), length // 2
        return x, x[jnp.minimum(jnp.where(j < half, 2 * j + 1, 2 * (j - half)), max_length - 1)]


@dataclasses.dataclass(frozen=True)
class BucketSort(StringTask):
    """A string of 5 symbols in ascending order.

    Place i of n holds symbol s if at most i symbols are below s and more than i are not above it, so an answer by place
    and length alone is right more often than one of five. ``chance`` is its accuracy at the longest training length.
    """

    name = "bucket_sort"
    num_tokens = 5
    num_outputs = 5

    @property
    def chance(self) -> float:  # type: ignore[override]
        return self.chance_at(self.max_length)

    def chance_at(self, length: int) -> float:
        """``mean_i max_s P(#(x < s) <= i < #(x <= s))``, where both numbers are binomial."""
        from scipy.special import bdtr  # binomial; jax brings scipy along

        below = bdtr(np.arange(length)[:, None], length, np.arange(self.num_tokens + 1) / self.num_tokens)
        return float(np.mean(np.max(below[:, :-1] - below[:, 1:], axis=1)))

    def output_length(self, length: Any) -> Any:
        return length

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """``output_j`` is the number of symbols ``k`` with ``#(x_i <= k) <= j``: sorting by counting."""
        x = self._symbols(key, max_length)
        at_most = jnp.sum(_first((x[:, None] <= jnp.arange(4)[None]).astype(jnp.int32), length), axis=0)
        return x, jnp.sum(at_most[None] <= jnp.arange(max_length)[:, None], axis=1)


def _leads(lengths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Lengths ``[L, 1]``, and by how much ones outnumber zeros in 100,000 drawn binary strings of each ``[L, N]``."""
    n = np.asarray(lengths)[:, None]
    return n, 2 * np.random.default_rng(0).binomial(n, 0.5, (len(lengths), 100_000)) - n


def _first(values: Array, length: Array) -> Array:
    """``values [S, ...]`` with zeros from index ``length`` on."""
    return jnp.where(jnp.arange(values.shape[0]).reshape(-1, *(1,) * (values.ndim - 1)) < length, values, 0)
