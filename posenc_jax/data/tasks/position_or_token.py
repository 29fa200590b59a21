"""A task whose errors say what failed: to tell two positions, or to tell two tokens."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.data.tasks.base import Example
from posenc_jax.data.tasks.position_probes import TokenAt
from posenc_jax.encodings.base import Array


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

    def check_fields(self) -> None:
        """Refuses fewer symbols than there must be different ones, with one left over."""
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
