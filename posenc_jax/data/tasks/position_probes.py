"""Tasks in which a model must act on a position: to see which positions it takes for which, and what failed."""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import LONGEST, MANY, Example, Split, Task, integers
from posenc_jax.data.tasks.by_offset import SUMS, curves, position_sums, symbol_sums
from posenc_jax.data.tasks.sequences import answered
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.value import at_least, limited
from posenc_jax.model_kind import ModelKind


@dataclasses.dataclass(frozen=True)
class PositionTask(Task):
    """Base class: ``length`` random symbols at positions ``0 .. length-1``, always as many, and questions about them.

    Attributes:
      length: the only length n, in training and in tests: a position that was never trained would be no confusion.
      num_symbols: how many symbols there are; each stands at each position with equal probability. Both up to 1048576.

    A result also has the curves of `posenc_jax.data.tasks.by_offset.curves`: what the model gives to the wrong
    position p + offset when asked about p.

    Errors: ValueError for ``length`` or ``num_symbols`` below 2 or above 1048576, and for another evaluated length.
    """

    length: int = 128
    num_symbols: int = 8

    paper = "this library"
    citation = "this library (posenc_jax), no publication"
    length_per = "step"
    limits = limited(length=at_least(2, most=LONGEST), num_symbols=at_least(2, most=LONGEST))
    model_kind: ClassVar[ModelKind] = "encoder_only"

    @property
    def vocab_size(self) -> int:
        return self.num_symbols

    @property
    def num_classes(self) -> int:
        return self.num_symbols

    @property
    def train_lengths(self) -> tuple[int, ...]:
        return (self.length,)

    def check_length(self, length: int) -> None:
        if length != self.length:
            raise ValueError(
                f"length {length}: {self.name} has sequences of task.length = {self.length} symbols only; evaluate "
                f"that length, or set task.length to {length}"
            )

    def width(self, max_length: int) -> int:
        return max_length

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        rest = {name: value for name, value in scores.items() if name not in SUMS}
        return {**rest, **curves(scores)}


@dataclasses.dataclass(frozen=True)
class TokenAt(PositionTask):
    """Report the symbol at a named position: ``x_0 ... x_(n-1) ?p -> x_p``.

    An encoder reads n symbols and then ``queries`` tokens, each of which names a position p by a token of its own and
    has x_p for its target. Positions are drawn uniformly and independently. The model can find x_p only by a position:
    its own table says what ``?p`` means, the encoding says where that is.

    Attributes:
      queries: questions of an example, up to 1048576; several train faster than one.

    Tokens: the symbols ``0 .. num_symbols-1``, then ``?0 .. ?(n-1)``.

    Errors: ValueError for less than one query, or too many; those of `PositionTask`.
    """

    queries: int = 1

    name = "token_at"
    limits = limited(**PositionTask.limits, queries=MANY)

    @property
    def vocab_size(self) -> int:
        return self.num_symbols + self.length

    @property
    def token_names(self) -> tuple[str, ...]:
        return (*map(str, range(self.num_symbols)), *(f"?{p}" for p in range(self.length)))

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.token_names[: self.num_symbols]

    def width(self, max_length: int) -> int:
        return max_length + self.queries

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        symbol_key, index_key = jax.random.split(key)
        symbols = self._symbols(symbol_key)
        positions = integers(index_key, (self.queries,), self.length)
        tokens = jnp.concatenate([symbols, self.num_symbols + positions])
        answers = jnp.concatenate([symbols, symbols[positions]])
        return answered(tokens, answers, jnp.arange(len(tokens)) >= self.length, len(tokens))

    def _symbols(self, key: Array) -> Array:
        return integers(key, (self.length,), self.num_symbols)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        n = self.length
        weights = jnp.broadcast_to(example.weights[:, n:, None], (*example.weights[:, n:].shape, n))
        return symbol_sums(logits[:, n:], example.inputs[:, :n], example.inputs[:, n:] - self.num_symbols, weights)


@dataclasses.dataclass(frozen=True)
class PositionOrToken(TokenAt):
    """Report the symbol at a named position, where no symbol stands twice: ``x_0 ... x_(n-1) ?p -> x_p``.

    Retrieval benchmarks (needles, passkeys) count an answer as right or wrong, and a wrong one may come of two
    failures. Here each wrong answer says which: a symbol that stands elsewhere in the sequence was read at a wrong
    position; a symbol that stands nowhere in it was misread, wherever the model looked. n of the ``num_symbols``
    symbols are drawn without replacement, in random order.

    A result also has ``position_error`` and ``token_error``, the mean probability of either kind of wrong answer: with
    the probability of the right one they sum to 1. A model that knows nothing has ``(n - 1) / num_symbols`` and
    ``(num_symbols - n) / num_symbols``; one that knows the tokens but no position ``(n - 1) / n`` and 0.

    Tokens, the field ``queries`` and the curves by offset as in `TokenAt`.

    Errors: ValueError unless ``num_symbols > length``; those of `TokenAt`.
    """

    length: int = 64
    num_symbols: int = 128

    name = "position_or_token"
    shortcut = "any symbol of the sequence"

    def shortcut_score(self, lengths: Sequence[int]) -> float:
        return 1 / self.length

    def check_fields(self) -> None:
        super().check_fields()
        if self.num_symbols <= self.length:
            raise ValueError(
                f"PositionOrToken: num_symbols = {self.num_symbols} must be above length = {self.length}: no symbol "
                "stands twice, and one at least stands nowhere; raise it"
            )

    def _symbols(self, key: Array) -> Array:
        return jax.random.permutation(key, self.num_symbols)[: self.length]

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """The sums of `TokenAt`, and the probabilities of symbols that are there and of those that are not."""
        n = self.length
        given = jax.nn.softmax(logits[:, n:].astype(jnp.float32), axis=-1)
        there = jnp.any(jax.nn.one_hot(example.inputs[:, :n], self.num_symbols, dtype=bool), axis=1)
        right = jnp.take_along_axis(given, example.targets[:, n:, None], axis=-1)[..., 0]
        of_there = jnp.sum(given * there[:, None].astype(given.dtype), axis=-1)
        weights = example.weights[:, n:]
        return {
            **super().extra_sums(logits, example),
            "position_error": jnp.sum((of_there - right) * weights),
            "token_error": jnp.sum((1.0 - of_there) * weights),
            "questions": jnp.sum(weights),
        }

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with both errors as means."""
        found = super().results(scores)
        questions = float(found.pop("questions"))
        for name in ("position_error", "token_error"):
            found[name] = float(found[name]) / questions if questions else float("nan")
        return found


@dataclasses.dataclass(frozen=True)
class PositionOf(PositionTask):
    """Name the position of the one marked token: ``x_0 ... * ... x_(n-1) -> p``, where ``*`` stands at p.

    An encoder reads n tokens, of which the one at a uniformly drawn p is the mark, and names p, one of n classes, at
    the mark's position. This gives nothing away: the model is the same at every position, so only an encoding tells
    positions apart, and without one the best is 1/n. (A mean over all tokens, or a query that first attends to all
    alike, sees nearly the same sum of positions whatever p is: small models did not begin to learn from either.) An
    absolute encoding needs no attention here, only to be read; a relative one must compare the mark with the others.

    Tokens: the symbols ``0 .. num_symbols-1``, then the mark.

    A result also has ``confusion`` ``[n][n]``, how often p (row) was called j, and ``confusion_given``, the summed
    probabilities.
    """

    name = "position_of"

    @property
    def vocab_size(self) -> int:
        return self.num_symbols + 1

    @property
    def num_classes(self) -> int:
        return self.length

    @property
    def token_names(self) -> tuple[str, ...]:
        return (*map(str, range(self.num_symbols)), "*")

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.length)))

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        symbol_key, index_key = jax.random.split(key)
        symbols = integers(symbol_key, (self.length,), self.num_symbols)
        position = integers(index_key, (), self.length)
        marked = jnp.arange(self.length) == position
        tokens = jnp.where(marked, self.num_symbols, symbols)
        return answered(tokens, jnp.full_like(tokens, position), marked, self.length)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        at_mark = jnp.sum(logits * example.weights[:, :, None], axis=1)
        return position_sums(at_mark, jnp.sum(example.targets, axis=1), jnp.max(example.weights, axis=1))

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with the curves by offset and the matrices behind them."""
        given, said = (np.asarray(scores[name], np.float64) for name in ("given", "said"))
        return {
            **super().results(scores),
            "confusion": said.astype(int).tolist(),
            "confusion_given": [[float(f"{value:.4g}") for value in row] for row in given],
        }


@dataclasses.dataclass(frozen=True)
class TokenBack(PositionTask):
    """At every position report the symbol ``back`` positions before: ``x_0 ... x_(n-1) -> x_(i-back) at i``.

    A decoder-only model; positions below ``back`` have no target. Position i is asked about p = i - back, and only
    positions up to i, which it sees, are counted in the curves by offset.

    Attributes:
      back: the fixed distance k.

    Tokens: the symbols ``0 .. num_symbols-1``.

    Errors: ValueError for ``back`` outside ``1 .. length-1``; those of `PositionTask`.
    """

    back: int = 8

    name = "token_back"
    model_kind = "decoder_only"

    def check_fields(self) -> None:
        super().check_fields()
        if not 1 <= self.back < self.length:
            raise ValueError(
                f"TokenBack: back = {self.back}, but 1 <= back < length = {self.length} must hold: no position has a "
                "symbol there; lower it or raise length"
            )

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        symbols = integers(key, (self.length,), self.num_symbols)
        position = jnp.arange(self.length)
        answers = symbols[jnp.maximum(position - self.back, 0)]
        return answered(symbols, answers, position >= self.back, self.length)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """`symbol_sums` at every position with a target, of what it sees."""
        position = jnp.arange(self.length)
        asked = jnp.broadcast_to(position[None, self.back :] - self.back, (logits.shape[0], self.length - self.back))
        seen = position[self.back :, None] >= position[None, :]
        weights = example.weights[:, self.back :, None] * seen[None].astype(example.weights.dtype)
        return symbol_sums(logits[:, self.back :], example.inputs, asked, weights)
