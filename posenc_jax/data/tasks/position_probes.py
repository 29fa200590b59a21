"""Three tasks in which a model must act on a position: to see which positions it takes for which."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.data.tasks.base import LONGEST, Example, Split, Task, integers
from posenc_jax.data.tasks.by_offset import SUMS, curves, position_sums, symbol_sums
from posenc_jax.encodings.base import Array
from posenc_jax.encodings.value import check_at_most
from posenc_jax.model_kind import ModelKind


@dataclasses.dataclass(frozen=True)
class PositionTask(Task):
    """Base class: ``length`` random symbols at positions ``0 .. length-1``, always as many, and questions about them.

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
    metric = "accuracy"
    length_per = "step"

    def check_fields(self) -> None:
        """Refuses fewer than two positions or symbols, and too many."""
        check_at_most(self, {"length": LONGEST, "num_symbols": LONGEST}, f"{type(self).__name__}: ")
        for field in ("length", "num_symbols"):
            if getattr(self, field) < 2:
                name, value = type(self).__name__, getattr(self, field)
                raise ValueError(f"{name}: {field} = {value}, but a choice needs at least 2: raise it")

    @property
    def model_kind(self) -> ModelKind:
        """Encoder-only."""
        return "encoder_only"

    @property
    def vocab_size(self) -> int:
        """The symbols."""
        return self.num_symbols

    @property
    def num_classes(self) -> int:
        """The symbols."""
        return self.num_symbols

    @property
    def train_lengths(self) -> tuple[int, ...]:
        """``length`` alone."""
        return (self.length,)

    def check_length(self, length: int) -> None:
        """Refuses every length but its own."""
        if length != self.length:
            raise ValueError(
                f"length {length}: {self.name} has sequences of task.length = {self.length} symbols only; evaluate "
                f"that length, or set task.length to {length}"
            )

    def width(self, max_length: int) -> int:
        """The symbols."""
        return max_length

    def results(self, scores: dict[str, Any]) -> dict[str, Any]:
        """Results with the curves by offset."""
        rest = {name: value for name, value in scores.items() if name not in SUMS}
        return {**rest, **curves(scores)}

    def _read(self, tokens: Array, targets: Array, weights: Array) -> Example:
        """An example without padding."""
        return Example(
            inputs=tokens.astype(jnp.int32),
            targets=targets.astype(jnp.int32),
            weights=weights.astype(jnp.float32),
            length=jnp.asarray(len(tokens), jnp.int32),
            segment_ids=jnp.ones(len(tokens), jnp.int32),
        )


@dataclasses.dataclass(frozen=True)
class TokenAt(PositionTask):
    """Report the symbol at a named position: ``x_0 ... x_(n-1) ?p -> x_p``.

    An encoder reads n symbols and then ``queries`` tokens, each of which names a position p by a token of its own and
    has x_p for its target. Positions are drawn uniformly and independently. The model can find x_p only by a position:
    its own table says what ``?p`` means, the encoding says where that is.

    queries: questions of an example, up to 1048576; several train faster than one.

    Tokens: the symbols ``0 .. num_symbols-1``, then ``?0 .. ?(n-1)``.

    Errors: ValueError for less than one query, or too many; those of `PositionTask`.
    """

    queries: int = 1

    name = "token_at"

    def check_fields(self) -> None:
        """Refuses examples without a question, or with too many."""
        super().check_fields()
        check_at_most(self, {"queries": LONGEST}, "TokenAt: ")
        if self.queries < 1:
            raise ValueError(f"TokenAt: queries = {self.queries}, but every example asks: set it to 1 or more")

    @property
    def vocab_size(self) -> int:
        """The symbols and a name for each position."""
        return self.num_symbols + self.length

    @property
    def token_names(self) -> tuple[str, ...]:
        """Symbols by number; names of positions with a question mark."""
        return (*map(str, range(self.num_symbols)), *(f"?{p}" for p in range(self.length)))

    @property
    def class_names(self) -> tuple[str, ...]:
        """Symbols by number."""
        return self.token_names[: self.num_symbols]

    def width(self, max_length: int) -> int:
        """Symbols and queries."""
        return max_length + self.queries

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """Symbols and positions drawn afresh; train and test do not differ."""
        symbol_key, index_key = jax.random.split(key)
        symbols = self._symbols(symbol_key)
        positions = integers(index_key, (self.queries,), self.length)
        nothing = jnp.zeros(self.length, jnp.int32)
        return self._read(
            jnp.concatenate([symbols, self.num_symbols + positions]),
            jnp.concatenate([nothing, symbols[positions]]),
            jnp.concatenate([nothing, jnp.ones(self.queries, jnp.int32)]),
        )

    def _symbols(self, key: Array) -> Array:
        return integers(key, (self.length,), self.num_symbols)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """`symbol_sums` at the queries."""
        n = self.length
        weights = jnp.broadcast_to(example.weights[:, n:, None], (*example.weights[:, n:].shape, n))
        return symbol_sums(logits[:, n:], example.inputs[:, :n], example.inputs[:, n:] - self.num_symbols, weights)


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
        """The symbols and the mark."""
        return self.num_symbols + 1

    @property
    def num_classes(self) -> int:
        """The positions."""
        return self.length

    @property
    def token_names(self) -> tuple[str, ...]:
        """Symbols by number, the mark as a star."""
        return (*map(str, range(self.num_symbols)), "*")

    @property
    def class_names(self) -> tuple[str, ...]:
        """Positions by number."""
        return tuple(map(str, range(self.length)))

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """Symbols and position drawn afresh; train and test do not differ."""
        symbol_key, index_key = jax.random.split(key)
        symbols = integers(symbol_key, (self.length,), self.num_symbols)
        position = integers(index_key, (), self.length)
        marked = jnp.arange(self.length) == position
        return self._read(jnp.where(marked, self.num_symbols, symbols), jnp.where(marked, position, 0), marked)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """`position_sums` at the mark."""
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

    back: the fixed distance k.

    Tokens: the symbols ``0 .. num_symbols-1``.

    Errors: ValueError for ``back`` outside ``1 .. length-1``; those of `PositionTask`.
    """

    back: int = 8

    name = "token_back"

    def check_fields(self) -> None:
        """Refuses a distance that no position has before it."""
        super().check_fields()
        if not 1 <= self.back < self.length:
            raise ValueError(
                f"TokenBack: back = {self.back}, but 1 <= back < length = {self.length} must hold: no position has a "
                "symbol there; lower it or raise length"
            )

    @property
    def model_kind(self) -> ModelKind:
        """Decoder-only."""
        return "decoder_only"

    def example(self, key: Array, length: Array, max_length: int, split: Split = "test") -> Example:
        """Symbols drawn afresh; train and test do not differ."""
        symbols = integers(key, (self.length,), self.num_symbols)
        position = jnp.arange(self.length)
        there = position >= self.back
        return self._read(symbols, jnp.where(there, symbols[jnp.maximum(position - self.back, 0)], 0), there)

    def extra_sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """`symbol_sums` at every position with a target, of what it sees."""
        position = jnp.arange(self.length)
        asked = jnp.broadcast_to(position[None, self.back :] - self.back, (logits.shape[0], self.length - self.back))
        seen = position[self.back :, None] >= position[None, :]
        weights = example.weights[:, self.back :, None] * seen[None].astype(example.weights.dtype)
        return symbol_sums(logits[:, self.back :], example.inputs, asked, weights)
