"""The three tasks of Delétang et al. 2023 that need a stack: their generators keep one themselves, token by token."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.base import integers
from posenc_jax.data.tasks.chomsky import StringTask
from posenc_jax.encodings.interface.base import Array

MODULUS = 5
PLUS, MINUS = MODULUS, MODULUS + 1


@dataclasses.dataclass(frozen=True)
class StackManipulation(StringTask):
    """The stack that is left after some pushes and pops, from its top, then 2, the end.

    A string of n symbols begins with the stack from its bottom: 1 to n - 1 bits, uniformly many. The rest are
    instructions, each of three alike: 2 pops (nothing, where nothing is left), 3 pushes 0, 4 pushes 1. There are n + 1
    outputs; those behind the end are 0 and count nowhere. For n = 1 the string is a stack of one bit.

    >>> task = StackManipulation(max_length=8)
    >>> task.describe(task.example(jax.random.key(0), 8, 8))
    '1 0 0 1 1 1 0 2 _ _ _ _ _ _ _ _ _ -> 1 1 1 0 0 1 2'
    """

    name = "stack_manipulation"
    chance = 0.5
    num_tokens = 5
    num_outputs = 3
    terminator = 2

    def output_length(self, length: Any) -> Any:
        return length + 1

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        """The instructions in turn, on a stack as an array and its size."""
        size_key, bit_key, action_key = jax.random.split(key, 3)
        size = jnp.where(length == 1, 1, 1 + integers(size_key, (), jnp.maximum(length - 1, 1)))
        index = jnp.arange(max_length)
        bits, actions = integers(bit_key, (max_length,), 2), 2 + integers(action_key, (max_length,), 3)
        tokens = jnp.where(index < size, bits, actions)

        def step(state: Any, index_and_token: Any) -> tuple[Any, None]:
            stack, height = state
            now, token = index_and_token
            acts = (now >= size) & (now < length)
            pushed = jnp.where(acts & (token > 2) & (index == height), token - 3, stack)
            change = jnp.where(acts, jnp.where(token > 2, 1, -1), 0)
            return (pushed, jnp.maximum(height + change, 0)), None

        start = (jnp.where(index < size, bits, 0), size)
        (stack, height), _ = jax.lax.scan(step, start, (index, tokens))
        out = jnp.arange(max_length + 1)
        from_top = stack[jnp.clip(height - 1 - out, 0, max_length - 1)]
        return tokens, jnp.where(out < height, from_top, jnp.where(out == height, 2, 0))


def expression(key: Array, length: Array, max_length: int, num_operators: int, bracket: int) -> tuple[Array, Array]:
    """A random expression mod 5 with brackets around every operation: ``(tokens [max_length], value [])``.

    One of n = 1, 2, 3, 4 symbols is ``d``, ``-d``, ``(d)``, ``(-d)`` with a uniform digit d. A longer one is
    ``(L o R)`` with a uniform operator o of the first ``num_operators`` of ``+``, ``-``, ``*``, and L of 1 to n - 4
    symbols, uniformly many. ``bracket`` is the token of the opening one; the closing one is the next.

    Symbol by symbol: what is still to be written stands on a stack (a positive number is an expression of so many
    symbols, another one a symbol), and so do the values and operators of what is not yet closed. Before index
    ``length`` ends, the stack to write is empty.
    """
    close_operation, close, minus, an_operator = 0, -1, -2, -3
    digit_key, operator_key, split_key = jax.random.split(key, 3)
    digits = integers(digit_key, (max_length,), MODULUS)
    operators = integers(operator_key, (max_length,), num_operators)
    shares = jax.random.bits(split_key, (max_length,), jnp.uint32)
    indices = jnp.arange(max_length + 4)

    def put(stack: Array, index: Array, value: Array) -> Array:
        return jnp.where(indices == index, value, stack)

    def write(state: Any, drawn: Any) -> tuple[Any, Any]:
        """(to write, its height, values, theirs, operators, theirs, sign of the next digit), and the next symbol."""
        todo, height, values, num_values, waiting, num_waiting, negative = state
        digit, operator, share = drawn
        item = jnp.where(height > 0, todo[height - 1], close)
        height = jnp.maximum(height - 1, 0)
        is_digit = item == 1
        left = 1 + (share % jnp.maximum(item - 4, 1).astype(jnp.uint32)).astype(jnp.int32)
        # What follows the symbol that is written now, the last one first.
        nothing = jnp.int32(0)
        branches = [
            (item >= 5, 4, (nothing + close_operation, item - 3 - left, nothing + an_operator, left)),
            (item == 4, 3, (nothing + close, nothing + 1, nothing + minus, nothing)),
            (item == 3, 2, (nothing + close, nothing + 1, nothing, nothing)),
            (item == 2, 1, (nothing + 1, nothing, nothing, nothing)),
        ]
        grown = height
        for happens, count, entries in branches:
            for offset in range(count):
                todo = jnp.where(happens, put(todo, height + offset, entries[offset]), todo)
            grown = jnp.where(happens, height + count, grown)
        symbol = jnp.select(
            [is_digit, (item == 2) | (item == minus), item >= 3, item == an_operator],
            [digit, nothing + MINUS, nothing + bracket, PLUS + operator],
            nothing + bracket + 1,
        )
        # A digit is a value, an operator waits for its bracket, and the bracket applies it to the last two values.
        applies = item == close_operation
        first, second = values[jnp.maximum(num_values - 2, 0)], values[jnp.maximum(num_values - 1, 0)]
        last_operator = waiting[jnp.maximum(num_waiting - 1, 0)]
        applied = jnp.select([last_operator == 0, last_operator == 1], [first + second, first - second], first * second)
        value = jnp.where(applies, applied, jnp.where(negative, -digit, digit)) % MODULUS
        at = jnp.where(applies, num_values - 2, num_values)
        values = jnp.where(is_digit | applies, put(values, at, value), values)
        num_values = num_values + jnp.where(is_digit, 1, jnp.where(applies, -1, 0))
        waiting = jnp.where(item == an_operator, put(waiting, num_waiting, operator), waiting)
        num_waiting = num_waiting + jnp.where(item == an_operator, 1, jnp.where(applies, -1, 0))
        negative = (item == 2) | (item == minus)
        return (todo, grown, values, num_values, waiting, num_waiting, negative), symbol

    zero, empty = jnp.int32(0), jnp.zeros_like(indices)
    start = (put(empty, zero, length), zero + 1, empty, zero, empty, zero, jnp.bool_(False))
    (_, _, values, *_), tokens = jax.lax.scan(write, start, (digits, operators, shares))
    return tokens, values[0]


@dataclasses.dataclass(frozen=True)
class ModularArithmeticBrackets(StringTask):
    """The value, mod 5, of an expression of digits with ``+``, ``-``, ``*`` and a bracket around every operation.

    Expressions of n = 1 to 4 symbols are ``d``, ``-d``, ``(d)``, ``(-d)``, longer ones ``(L o R)`` with a random
    operator and L of 1 to n - 4 symbols, as `expression` draws them.

    Attributes:
      mult: whether there is multiplication, as in the authors' list of tasks; their class leaves it out unless told.

    Tokens: 0-4 are digits, 5 ``+``, 6 ``-``, 7 ``*``, 8 and 9 the brackets; the authors have an eleventh, unused.

    >>> task = ModularArithmeticBrackets(max_length=12)
    >>> task.describe(task.example(jax.random.key(0), 12, 12))
    '( - 3 + ( - 2 * - 2 ) ) _ -> 1'
    """

    mult: bool = True

    name = "modular_arithmetic_brackets"
    chance = 0.2
    num_tokens = 10
    num_outputs = MODULUS
    token_names = (*"01234+-*()", "_")

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        tokens, value = expression(key, length, max_length, 3 if self.mult else 2, 8)
        return tokens, value[None]


@dataclasses.dataclass(frozen=True)
class SolveEquation(StringTask):
    """The digit x that solves ``expression = value`` mod 5, where x stands for one digit of the expression.

    The expression of n - 2 symbols has brackets around every operation, which is ``+`` or ``-``, as `expression` draws
    it. x replaces the first digit from a uniformly drawn index on, around the end. For n = 1 and 2, where there is no
    equation, inputs and output are 0.

    Tokens: 0-4 are digits, then ``+``, ``-``, the brackets, x and ``=``.

    >>> task = SolveEquation(max_length=12)
    >>> task.describe(task.example(jax.random.key(0), 12, 12))
    '( ( - 0 + 1 ) - x ) = 1 _ -> 0'
    """

    name = "solve_equation"
    chance = 0.2
    num_tokens = MODULUS + 6
    num_outputs = MODULUS
    token_names = (*"01234+-()x=", "_")

    def problem(self, key: Array, length: Array, max_length: int) -> tuple[Array, Array]:
        expression_key, index_key = jax.random.split(key)
        size = jnp.maximum(length - 2, 1)
        tokens, value = expression(expression_key, size, max_length, 2, 7)
        index = jnp.arange(max_length)
        behind = (index - integers(index_key, (), size)) % size
        hidden = jnp.argmin(jnp.where((tokens < MODULUS) & (index < size), behind, max_length))
        answer = tokens[hidden]
        unknown, equals = MODULUS + 4, MODULUS + 5
        tokens = jnp.where(index == hidden, unknown, tokens)
        tokens = jnp.where(index == size, equals, jnp.where(index == size + 1, value, tokens))
        there = length >= 3
        return jnp.where(there, tokens, 0), jnp.where(there, answer, 0)[None]
