"""Counting: what is a variable's value at the end of a program of resets and increments?"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.base import MANY, Example, RangedTask, Split, integers
from posenc_jax.data.tasks.sequences import NUM_SPECIAL, SPECIAL_NAMES, prompted
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited

EQUALS, SEMICOLON, INCREMENT, PASS, PRINT = range(NUM_SPECIAL, NUM_SPECIAL + 5)
FIRST_NUMBER = NUM_SPECIAL + 5
# Tokens of the longest statement, ``a = 0 ;``.
SET_TOKENS = 4


@dataclasses.dataclass(frozen=True)
class Counting(RangedTask):
    """Run a program of n statements and print a variable: ``BOS a = 0 ; pass; a ++; pass; print a SEP -> 1 EOS``.

    Statements are drawn one after another: ``v = 0 ;`` with weight ``set_weight``, each v as often, ``pass;`` with
    ``pass_weight``, and ``v ++;`` with ``increment_weight``, shared by the variables that have been set; one that would
    exceed ``max_value`` is not drawn. The first ``set`` is drawn so that there is one. The printed variable is any that
    has been set.

    Attributes:
      min_length, max_length: statements n of a training program, 3 to 512 in the source.
      num_variables: 1, 3 or 5 in the source, up to 26.
      max_value: the largest value, 10 in the source.
      set_weight, pass_weight, increment_weight: how often each statement is drawn, 1, 50 and 7 in the source, up to
        1048576.

    Published is the error of the answer, ``1 - exact_match`` (here EOS behind it must be right too). ``chance`` is that
    of the values 0 .. max_value, all alike; always 10, the best guess, is right in 0.18 of programs as in training.

    Tokens: PAD 0, BOS 1, SEP 2, EOS 3, ``=``, ``;``, ``++;``, ``pass;``, ``print``, the numbers, then the variables, as
    the source's tokenizer splits them.

    >>> task = Counting(min_length=3, max_length=8, pass_weight=2)
    >>> task.describe(task.example(jax.random.key(0), 8, 8))
    'BOS pass; pass; pass; pass; a = 0 ; a ++; a ++; a ++; print a SEP -> 3 EOS'

    Departures: the source makes 10,000 programs for training once, draws programs again that set nothing (so short ones
    are rarer), and cuts the beginning of one with more than 512 tokens. Here a statement that would leave a program of
    n statements no room in ``2 n + 8`` tokens is ``pass;``: with the source's weights none in a million.

    Errors: ValueError for numbers below 1, too many variables, and lengths as in `RangedTask`.

    Reference: Golovneva et al., "Contextual Position Encoding: Learning to Count What's Important", 2024, section 5.2
    and table 3; facebookresearch/RAM, projects/cope.
    """

    min_length: int = 3
    max_length: int = 512
    num_variables: int = 3
    max_value: int = 10
    set_weight: int = 1
    pass_weight: int = 50
    increment_weight: int = 7

    name = "counting"
    citation = """@misc{golovneva2024contextual, author = {Golovneva and others}, title = {{Contextual Position
        Encoding: Learning to Count What's Important}}, year = {2024}, eprint = {2405.18719}}"""
    metric = "exact_match"
    length_unit = "statements"
    limits = limited(
        num_variables=at_least(1, most=26), max_value=MANY, set_weight=MANY, pass_weight=MANY, increment_weight=MANY
    )

    @property
    def chance(self) -> float:  # type: ignore[override]
        return 1 / (self.max_value + 1)

    @property
    def vocab_size(self) -> int:
        return self._first_variable + self.num_variables

    @property
    def _first_variable(self) -> int:
        return FIRST_NUMBER + self.max_value + 1

    @property
    def token_names(self) -> tuple[str, ...]:
        variables = "abcdefghijklmnopqrstuvwxyz"[: self.num_variables]
        return (*SPECIAL_NAMES, "=", ";", "++;", "pass;", "print", *map(str, range(self.max_value + 1)), *variables)

    def _room(self, length: Any) -> Any:
        return 2 * length + 8

    def width(self, max_length: int) -> int:
        """BOS, program, ``print v``, SEP and the answer."""
        return int(self._room(max_length) + 5)

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        first_key, statement_key, print_key = jax.random.split(key, 3)
        draws = jax.random.uniform(statement_key, (max_length,), jnp.float32)
        first = self._first_set(first_key, length)
        variables = jnp.arange(self.num_variables)

        def statement(state: Any, drawn: Any) -> tuple[Any, Any]:
            """(values, -1 before they are set; tokens so far), and the statement's number: set v, increment v, pass."""
            values, used = state
            position, draw = drawn
            is_set = values >= 0
            share = self.increment_weight / jnp.maximum(jnp.sum(is_set), 1)
            weights = jnp.concatenate(
                [
                    jnp.full((self.num_variables,), self.set_weight / self.num_variables),
                    jnp.where(is_set & (values < self.max_value), share, 0),
                    jnp.full((1,), self.pass_weight, jnp.float32),
                ]
            )
            below = jnp.cumsum(weights.astype(jnp.float32))
            chosen = jnp.sum(below[:-1] <= draw * below[-1])
            chosen = jnp.where(position == first, jnp.int32(draw * self.num_variables), chosen)
            chosen = jnp.where(position < first, 2 * self.num_variables, chosen)
            size = self._size(chosen)
            fits = used + size + (length - 1 - position) <= self._room(length)
            chosen = jnp.where(fits & (position < length), chosen, 2 * self.num_variables)
            values = jnp.where(variables == chosen, 0, values)
            values = values + (variables + self.num_variables == chosen).astype(values.dtype)
            return (values, used + self._size(chosen)), chosen

        start = (jnp.full((self.num_variables,), -1), jnp.int32(0))
        (values, _), chosen = jax.lax.scan(statement, start, (jnp.arange(max_length), draws))
        printed = self._any(print_key, values >= 0)
        program, size = self._tokens(chosen, length, self._room(max_length) + 2)
        position = jnp.arange(len(program))
        program = jnp.where(position == size, PRINT, program)
        program = jnp.where(position == size + 1, self._first_variable + printed, program)
        return prompted(program, size + 2, (FIRST_NUMBER + values[printed])[None], 1)

    def _first_set(self, key: Array, length: Array) -> Array:
        """The index of the first ``set``, given that there is one: before it only ``pass`` can stand."""
        kept = self.pass_weight / (self.pass_weight + self.set_weight)
        some = 1 - kept ** jnp.asarray(length, jnp.float32)  # that one of the statements is it
        draw = jax.random.uniform(key, (), jnp.float32)
        position = jnp.floor(jnp.log1p(-draw * some) / jnp.log(jnp.float32(kept)))
        return jnp.clip(position.astype(jnp.int32), 0, length - 1)

    def _size(self, chosen: Array) -> Array:
        return jnp.where(chosen < self.num_variables, SET_TOKENS, jnp.where(chosen < 2 * self.num_variables, 2, 1))

    def _tokens(self, chosen: Array, length: Array, room: int) -> tuple[Array, Array]:
        """The program as ``[room]`` tokens, and how many there are."""
        sizes = jnp.where(jnp.arange(len(chosen)) < length, self._size(chosen), 0)
        ends = jnp.cumsum(sizes)
        position = jnp.arange(room)
        ended = jnp.cumsum(jnp.zeros(room, jnp.int32).at[ends].add(1, mode="drop"))  # statements before each token
        of_token = jnp.minimum(ended, len(chosen) - 1)
        statement, within = chosen[of_token], position - (ends - sizes)[of_token]
        variable = self._first_variable + statement % self.num_variables
        number = jnp.full_like(variable, FIRST_NUMBER)
        words = jnp.stack([variable, jnp.full_like(variable, EQUALS), number, jnp.full_like(variable, SEMICOLON)])
        of_set = jnp.take_along_axis(words, jnp.clip(within, 0, SET_TOKENS - 1)[None], axis=0)[0]
        of_increment = jnp.where(within == 0, variable, INCREMENT)
        tokens = jnp.where(statement < 2 * self.num_variables, of_increment, PASS)
        return jnp.where(statement < self.num_variables, of_set, tokens), ends[-1]

    def _any(self, key: Array, there: Array) -> Array:
        wanted = integers(key, (), jnp.sum(there))
        return jnp.argmax(jnp.cumsum(there) > wanted)
