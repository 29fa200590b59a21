"""The three tasks of Delétang et al. 2023 on binary numbers of any length."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.addition import carried
from posenc_jax.data.tasks.base import integers
from posenc_jax.data.tasks.chomsky import StringTask
from posenc_jax.encodings.interface.base import Array


@dataclasses.dataclass(frozen=True)
class BinaryOperation(StringTask):
    """Base class: two binary numbers, units first, with 2 between them, and their result, units first, with 2 behind.

    A string of n symbols has numbers of l and n - 1 - l bits, l from 1 to n - 2 uniformly, each number uniform from 1
    to the largest of so many bits. Strings of one and two symbols are a single number, uniform from 0 to the last but
    one. Outputs behind the 2 are 0 and count nowhere; ``chance`` is that of guessing bits.
    """

    chance = 0.5
    num_tokens = 3
    num_outputs = 3
    terminator = 2

    def combined(self, first: Array, second: Array) -> Array:
        """The result's bits ``[S]``, units first, of two numbers of S bits."""
        raise NotImplementedError

    def short_result(self, number: Array, length: Array) -> tuple[Array, Array]:
        """The bits ``[2]`` of the result for strings of one and two symbols, and their number."""
        raise NotImplementedError

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        size_key, first_key, second_key, short_key = jax.random.split(key, 4)
        width = max(max_length, 2)
        index = jnp.arange(width)
        first_size = 1 + integers(size_key, (), jnp.maximum(length - 2, 1))
        second_size = jnp.maximum(length - 1 - first_size, 1)
        first, second = number(first_key, first_size, width), number(second_key, second_size, width)
        tokens = jnp.where(index < first_size, first, second[jnp.maximum(index - first_size - 1, 0)])
        tokens = jnp.where(index == first_size, 2, tokens)
        result = self.combined(first, second)
        size = jnp.max(jnp.where(result == 1, index + 1, 1))
        short = integers(short_key, (), 2 ** jnp.minimum(length, 2) - 1)
        short_bits, short_size = self.short_result(short, length)
        is_short = length <= 2
        tokens = jnp.where(is_short, short >> jnp.minimum(index, 2) & 1, tokens)
        result = jnp.where(is_short, jnp.pad(short_bits, (0, width - 2)), result)
        size = jnp.where(is_short, short_size, size)
        out = jnp.arange(max_length + 1)
        bits = jnp.where(out < size, result[jnp.minimum(out, width - 1)], 0)
        outputs = jnp.where(out == size, 2, bits)
        return tokens[:max_length], outputs[: self.output_length(max_length)]


@dataclasses.dataclass(frozen=True)
class BinaryAddition(BinaryOperation):
    """The sum of two binary numbers, units first: ``1 0 0 1 2 0 1 -> 1 1 0 1 2`` (9 + 2 = 11).

    Strings are those of `BinaryOperation`: n symbols with 2 as the plus sign, and n + 1 outputs.

    >>> task = BinaryAddition(max_length=8)
    >>> task.describe(task.example(jax.random.key(0), 8, 8))
    '0 1 2 0 1 0 0 0 _ _ _ _ _ _ _ _ _ -> 0 0 1 2'
    """

    name = "binary_addition"

    def output_length(self, length: Any) -> Any:
        return length + 1

    def combined(self, first: Array, second: Array) -> Array:
        return carried(first + second, 2)

    def short_result(self, number: Array, length: Array) -> tuple[Array, Array]:
        return jnp.stack([number & 1, number >> 1]), jnp.where(number > 1, 2, 1)


@dataclasses.dataclass(frozen=True)
class BinaryMultiplication(BinaryOperation):
    """The product of two binary numbers, units first: ``1 0 0 1 2 0 1 -> 0 1 0 0 1 2`` (9 * 2 = 18).

    Strings are those of `BinaryOperation`: n symbols with 2 as the times sign, and n outputs. The result of strings of
    one symbol is empty, of two symbols 0.

    >>> task = BinaryMultiplication(max_length=8)
    >>> task.describe(task.example(jax.random.key(0), 8, 8))
    '0 1 2 0 1 0 0 0 _ _ _ _ _ _ _ _ -> 0 0 1 2'
    """

    name = "binary_multiplication"

    def output_length(self, length: Any) -> Any:
        return length

    def combined(self, first: Array, second: Array) -> Array:
        return carried(product_columns(first, second), 2)

    def short_result(self, number: Array, length: Array) -> tuple[Array, Array]:
        return jnp.zeros(2, jnp.int32), length - 1


@dataclasses.dataclass(frozen=True)
class SquareRoot(StringTask):
    """The root, rounded down, of a binary number, most significant bit first: ``1 0 0 1 0 1 -> 1 1 0`` (37 -> 6).

    A number of n bits is uniform from 1 to ``2^n - 1``; its root has ``ceil(n / 2)`` bits.

    >>> task = SquareRoot(max_length=8)
    >>> task.describe(task.example(jax.random.key(0), 8, 8))
    '0 1 0 0 0 1 0 0 _ _ _ _ -> 1 0 0 0'
    """

    name = "square_root"
    chance = 0.5

    def output_length(self, length: Any) -> Any:
        return (length + 1) // 2

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """Bit by bit, as on paper: with root q of the bits so far and remainder r, the next bit of the root is whether
        ``4 r + (the next two bits) >= 4 q + 1``.
        """
        bits = number(key, length, max_length)
        index = jnp.arange(max_length)
        tokens = bits[jnp.clip(length - 1 - index, 0, max_length - 1)]
        steps = self.output_length(max_length)
        at = 2 * jnp.arange(steps) - length % 2  # a number of odd length has a 0 before it
        high = jnp.where(at < 0, 0, tokens[jnp.clip(at, 0, max_length - 1)])
        low = tokens[jnp.clip(at + 1, 0, max_length - 1)]

        def step(state: Any, pair: Any) -> tuple[Any, Any]:
            root, remainder = state
            extended = jnp.concatenate([jnp.stack([pair[1], pair[0]]), remainder[:-2]])
            tried = jnp.concatenate([jnp.array([1, 0]), root[:-2]])
            difference, negative = subtracted(extended, tried)
            bit = jnp.where(negative, 0, 1)
            return (jnp.append(bit, root[:-1]), jnp.where(negative, extended, difference)), bit

        nothing = jnp.zeros(steps + 4, jnp.int32)
        return tokens, jax.lax.scan(step, (nothing, nothing), (high, low))[1]


def number(key: Array, size: Array, width: int) -> Array:
    """``[width]`` bits, units first, of a number from 1 to ``2^size - 1``, all alike (up to ``2^-31``)."""
    word_key, bit_key = jax.random.split(key)
    index = jnp.arange(width)
    largest = jnp.left_shift(jnp.uint32(1), jnp.minimum(size, 31).astype(jnp.uint32)) - 1
    word = 1 + jax.random.bits(word_key, (), jnp.uint32) % largest
    of_word = jnp.right_shift(word, jnp.minimum(index, 31).astype(jnp.uint32)) & 1
    bits = jnp.where(size <= 31, of_word.astype(jnp.int32), integers(bit_key, (width,), 2))
    bits = jnp.where(index < size, bits, 0)
    return jnp.where((index == 0) & ~jnp.any(bits), 1, bits)


def product_columns(a: Array, b: Array) -> Array:
    """``[S]``: ``columns_k = sum_i a_i b_(k-i)`` for two numbers of S digits, the first S columns.

    >>> product_columns(jnp.array([1, 2, 0]), jnp.array([3, 1, 0])).tolist()
    [3, 7, 2]
    """

    def add(state: Any, digit: Any) -> tuple[Any, None]:
        columns, shifted = state
        return (columns + digit * shifted, jnp.pad(shifted, (1, 0))[:-1]), None

    return jax.lax.scan(add, (jnp.zeros_like(b), b), a)[0][0]


def subtracted(a: Array, b: Array) -> tuple[Array, Array]:
    """``a - b`` for two numbers as bits ``[S]``, units first, modulo ``2^S``, and whether it is negative.

    Borrows are composed, not passed on bit by bit: a bit borrows if it must, or if it passes on one from below.

    >>> difference, negative = subtracted(jnp.array([0, 0, 1]), jnp.array([1, 1, 0]))
    >>> difference.tolist(), bool(negative)
    ([1, 0, 0], False)
    """

    def compose(low: tuple[Array, Array], high: tuple[Array, Array]) -> tuple[Array, Array]:
        return high[0] | (high[1] & low[0]), low[1] & high[1]

    borrows, _ = jax.lax.associative_scan(compose, ((1 - a) & b, 1 - (a ^ b)))
    return a ^ b ^ jnp.pad(borrows, (1, 0))[:-1], borrows[-1] == 1
