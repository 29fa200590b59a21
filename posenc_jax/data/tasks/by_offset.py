"""Confusion of positions by a model: sums over questions about a position, and curves by offset.

A question is about position ``p`` of ``n``; ``given`` is the probability that the model gives to position ``j`` (to its
symbol, or its name). Sums are ``[n, n]``: row ``p`` that was asked for, column ``j``. Offset: ``j - p``.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array

# Summed probability, number of times the largest, summed logit over the mean, and number of questions.
SUMS = ("given", "said", "logit", "asked")


def symbol_sums(logits: Array, symbols: Array, asked: Array, weights: Array) -> dict[str, Array]:
    """`SUMS` ``[n, n]`` of questions whose answer is the symbol at a position.

    Args:
      logits: ``[B, Q, C]`` of Q questions an example.
      symbols: ``[B, n]``, what stands at each position.
      asked: ``[B, Q]``, the position asked for.
      weights: ``[B, Q, n]``, 1 where a position is looked at.

    A position ``j != p`` with the symbol of ``p`` is not counted: there a wrong position would give the right answer.
    """
    (batch, count), positions = asked.shape, symbols.shape[1]
    shown = jax.nn.one_hot(symbols, logits.shape[-1])
    given, logit = (
        jnp.einsum("bqc,bjc->bqj", values, shown, precision="highest") for values in _probability_and_logit(logits)
    )
    said = (jnp.argmax(logits, axis=-1)[:, :, None] == symbols[:, None]).astype(jnp.float32)
    right = asked[:, :, None] == jnp.arange(positions)[None, None]
    answer = jnp.sum(jnp.where(right, symbols[:, None], 0), axis=-1)
    counted = weights * (right | (symbols[:, None] != answer[:, :, None])).astype(weights.dtype)
    rows = right.reshape(batch * count, positions).astype(jnp.float32)
    return _sums(rows, *(x.reshape(batch * count, positions) for x in (given, said, logit, counted)))


def position_sums(logits: Array, asked: Array, weights: Array) -> dict[str, Array]:
    """`SUMS` ``[n, n]`` of questions whose answer is a position: ``logits [B, n]``, ``asked [B]``, ``weights [B]``."""
    positions = logits.shape[-1]
    given, logit = _probability_and_logit(logits)
    said = jax.nn.one_hot(jnp.argmax(logits, axis=-1), positions)
    return _sums(jax.nn.one_hot(asked, positions), given, said, logit, jnp.broadcast_to(weights[:, None], given.shape))


def _probability_and_logit(logits: Array) -> tuple[Array, Array]:
    logits = logits.astype(jnp.float32)
    return jax.nn.softmax(logits, axis=-1), logits - jnp.mean(logits, axis=-1, keepdims=True)


def _sums(rows: Array, given: Array, said: Array, logit: Array, counted: Array) -> dict[str, Array]:
    columns = (given * counted, said * counted, logit * counted, counted)
    return {name: jnp.einsum("qp,qj->pj", rows, column, precision="highest") for name, column in zip(SUMS, columns)}


def curves(sums: dict[str, Any]) -> dict[str, list[float | None]]:
    """The curves of a result, each a list over the offsets ``-(n-1) .. n-1`` (None: nothing was asked).

    ``given_by_offset``, ``said_by_offset`` and ``logit_by_offset`` are means, ``asked_by_offset`` the number of
    questions behind them;
    ``given_contrast`` and ``said_contrast`` are those of `contrast`.
    """
    given, said, logit, asked = (np.asarray(sums[name], np.float64) for name in SUMS)
    return {
        "given_by_offset": _listed(by_offset(given, asked)),
        "said_by_offset": _listed(by_offset(said, asked)),
        "logit_by_offset": _listed(by_offset(logit, asked)),
        "asked_by_offset": [int(x) for x in _diagonals(asked)],
        "given_contrast": _listed(contrast(given, asked)),
        "said_contrast": _listed(contrast(said, asked)),
    }


def by_offset(total: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """``[2n-1]``: total over asked, each summed over all pairs of one offset; NaN where nothing was asked."""
    return _ratio(_diagonals(total), _diagonals(asked))


def contrast(total: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """``[2n-1]``: the mean at an offset minus the mean of those at the two offsets beside it.

    All three are over the same positions ``p``: those from which all three offsets stay within ``0 .. n-1``. So a model
    whose confusion depends on ``p`` but not on the offset has a contrast of 0. NaN at -1, 0 and 1, where one of the
    three is the right answer, and where nothing was asked.
    """
    positions = len(total)
    found = np.full(2 * positions - 1, np.nan)
    for offset in range(2 - positions, positions - 1):
        p = np.arange(max(0, 1 - offset), min(positions, positions - 1 - offset))
        if abs(offset) > 1 and len(p):
            below, here, above = (
                _ratio(total[p, p + offset + step].sum(), asked[p, p + offset + step].sum()) for step in (-1, 0, 1)
            )
            found[offset + positions - 1] = here - (below + above) / 2
    return found


def _diagonals(matrix: np.ndarray) -> np.ndarray:
    positions = len(matrix)
    return np.array([np.trace(matrix, offset) for offset in range(1 - positions, positions)])


def _ratio(total: Any, asked: Any) -> Any:
    return np.where(asked > 0, total / np.where(asked > 0, asked, 1), np.nan)


def _listed(values: np.ndarray) -> list[float | None]:
    """Seven significant digits, as many as a float32 sum has."""
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values]
