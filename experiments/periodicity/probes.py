"""Probes of positions in the activations of a trained model, and of the effect of moving the same content.

Two positions may be close in an encoding and yet easy to tell apart, or far and never told apart: these functions
measure the second. All are deterministic; none reads a file.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.encodings.interface.base import Array
from posenc_jax.statistics import wilson


@dataclasses.dataclass(frozen=True)
class Separation:
    """Separation of two positions on contents that the probe had not seen.

    Attributes:
      accuracy: share of held-out activations put to their own position; an exact tie counts half.
      low, high: the 95 % `wilson` interval of it.
      trials: the number of held-out activations.
      margin: d', the distance of the two means along the probe in standard deviations (of the mean variance). The best
        accuracy that two normal clouds d' apart allow is ``Phi(d'/2)``: 0.69 at 1, 0.84 at 2, 0.98 at 4.
    """

    accuracy: float
    low: float
    high: float
    trials: int
    margin: float


@dataclasses.dataclass(frozen=True)
class Naming:
    """The position that a probe named for each held-out activation.

    Attributes:
      confusion: ``[P, P]``, the share of the activations at position p (row) for which q (column) was named.
      accuracy, low, high, trials: as in `Separation`, over all positions. Guessing gives ``1 / P``.
    """

    confusion: np.ndarray
    accuracy: float
    low: float
    high: float
    trials: int

    def at_offset(self, offset: int) -> float:
        """The mean share, over positions p that have one, of naming ``p + offset`` in the place of p."""
        shares = np.diagonal(self.confusion, offset)
        if not shares.size:
            raise ValueError(
                f"offset {offset} does not occur among {len(self.confusion)} positions: it lies within "
                f"+-{len(self.confusion) - 1}"
            )
        return float(shares.mean())


@dataclasses.dataclass(frozen=True)
class Change:
    """Differences between two forward passes, for each of B examples (a mean over its real tokens).

    Attributes:
      kl: ``[B]`` nats, ``KL(first || second)`` of the predictions.
      argmax: ``[B]``, the share of tokens whose most probable prediction is another one.
      largest: ``[B]``, the largest change of a log-probability.
      attention: stack -> ``[B, L, H]``, the total variation ``sum |w - w'| / 2`` of the weights of a query, in 0 .. 1.
    """

    kl: Array
    argmax: Array
    largest: Array
    attention: dict[str, Array]


jax.tree_util.register_dataclass(Change, data_fields=["kl", "argmax", "largest", "attention"], meta_fields=[])


def examples_needed(width: int, margin: float = 1.0, loss: float = 0.05) -> int:
    """Training contents with which a probe over ``width`` dimensions finds a share ``1 - loss`` of a true ``margin``.

    With n contents, so 2n activations, the estimated direction of two normal clouds reaches about (see Raudys & Young
    2004, J. Multivariate Analysis 89, a review)::

        d'_found^2 = d'^2 (1 - M / 2n) / (1 + 2M / (n d'^2))

    >>> [examples_needed(width) for width in (8, 64, 128, 512)]
    [190, 1514, 3027, 12105]
    """
    if width < 1 or not margin > 0 or not 0 < loss < 1:
        raise ValueError(f"width {width}, margin {margin}, loss {loss}: give width >= 1, margin > 0 and 0 < loss < 1")
    kept = (1 - loss) ** 2
    return math.ceil(width * (0.5 + 2 * kept / margin**2) / (1 - kept))


def separate(first: Array, second: Array, *, training: float = 0.75, ridge: float = 1e-6) -> Separation:
    """The linear probe that tells position a from position b by their activations ``[N, M]`` in N random contents.

    Row i of both arrays is of content i. The first contents (a share ``training``) fit the probe; of the others every
    second one gives its activation at a, the rest theirs at b. So no content is on both sides, and the held-out trials
    are independent. The probe is ridge regression to +1 and -1, whose direction is Fisher's discriminant::

        w = (S + ridge tr(S)/M I)^-1 (mean_a - mean_b),   a where  w . x > w . (mean_a + mean_b) / 2

    S is the covariance of all training activations about their common mean. Solved in float64: nothing is drawn.
    Linear probes of layers: Alain & Bengio 2016, arXiv:1610.01644. See `examples_needed` for N.

    Raises:
      ValueError: the shapes differ, values are not finite, or there are too few contents: fewer for training than
        dimensions, or fewer than two held out.
    """
    a, b = (_finite(x, 2) for x in (first, second))
    if a.shape != b.shape:
        raise ValueError(f"activations of shapes {a.shape} and {b.shape}: both must have the same contents and width")
    cut = _cut(len(a), a.shape[1], training)
    weights, centre = _direction(a[:cut], b[:cut], ridge)
    at_a, at_b = (a[cut::2] - centre) @ weights, (b[cut + 1 :: 2] - centre) @ weights
    right = float(np.sum(at_a > 0) + np.sum(at_b < 0) + 0.5 * (np.sum(at_a == 0) + np.sum(at_b == 0)))
    trials = len(at_a) + len(at_b)
    return Separation(right / trials, *wilson(right, trials), trials, _margin(at_a, at_b))


def _direction(a: np.ndarray, b: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """The probe's weights ``[M]`` and the middle of the two means ``[M]``."""
    difference, centre = a.mean(0) - b.mean(0), (a.mean(0) + b.mean(0)) / 2
    covariance = _covariance(np.concatenate([a, b]) - centre)
    return _solve(covariance, difference, ridge), centre


def _margin(at_a: np.ndarray, at_b: np.ndarray) -> float:
    deviation = math.sqrt((at_a.var() + at_b.var()) / 2)
    distance = float(at_a.mean() - at_b.mean())
    return distance / deviation if deviation else math.copysign(math.inf, distance) if distance else 0.0


def name_positions(activations: Array, *, training: float = 0.75, ridge: float = 1e-6) -> Naming:
    """The linear probe that names the position of an activation, of ``[N, P, M]``: N contents at P positions each.

    Contents are split as in `separate`, and every held-out content is asked at all P positions. The probe is the linear
    discriminant with one covariance S (of activations about the mean of their position) for all positions::

        named(x) = argmax_q  mean_q . S^-1 x - mean_q . S^-1 mean_q / 2

    Least squares on one-hot targets would be simpler and cannot be used: with more positions than dimensions it hides
    the positions in the middle behind the others (Hastie et al. 2009, The Elements of Statistical Learning, section
    4.2).

    Trials at different positions of a content are not independent: the interval is that of independent ones. Positions
    with identical activations tie, and the first of them is named.
    """
    x = _finite(activations, 3)
    contents, positions, width = x.shape
    cut = _cut(contents, width, training)
    means = x[:cut].mean(0)
    covariance = _covariance((x[:cut] - means).reshape(-1, width))
    weights = _solve(covariance, means.T, ridge)  # [M, P]
    scores = x[cut:] @ weights - np.sum(means.T * weights, axis=0) / 2
    named = np.argmax(scores, axis=-1)
    confusion = np.stack([np.bincount(column, minlength=positions) for column in named.T]) / len(named)
    trials = named.size
    right = int(np.sum(named == np.arange(positions)))
    return Naming(confusion, right / trials, *wilson(right, trials), trials)


def _finite(x: Array, rank: int) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if x.ndim != rank:
        axes = {2: "[contents, width]", 3: "[contents, positions, width]"}[rank]
        raise ValueError(f"activations of shape {x.shape} are not {axes}")
    if not np.isfinite(x).all():
        raise ValueError("activations are not finite: positions beyond a learned table give NaN, keep within its rows")
    return x


def _cut(contents: int, width: int, training: float) -> int:
    cut = int(contents * training)
    if cut < width or contents - cut < 2:
        raise ValueError(
            f"{contents} contents are too few for a probe over {width} dimensions: {cut} for training (at least "
            f"{width}) and {contents - cut} held out (at least 2); `examples_needed` says how many are enough"
        )
    return cut


def _covariance(centred: np.ndarray) -> np.ndarray:
    return centred.T @ centred / len(centred)


def _solve(covariance: np.ndarray, right: np.ndarray, ridge: float) -> np.ndarray:
    """``(S + ridge tr(S)/M I)^-1 right``; where nothing varies, ``right`` itself: the nearest mean."""
    scale = np.trace(covariance) / len(covariance)
    if scale == 0:
        return right
    return np.linalg.solve(covariance + ridge * scale * np.eye(len(covariance)), right)


def layer_activations(captured: Mapping[str, Any]) -> dict[str, Array]:
    """``[B, S, M]`` by layer, of the activations that a model gave for one stack: "embedding", "block 1", ..."""
    blocks = {f"block {number}": layer["output"] for number, layer in enumerate(captured["layers"], 1)}
    return {"embedding": captured["embeddings"], **blocks}


def attention_maps(captured: Mapping[str, Any]) -> dict[str, Array]:
    """``[B, L, H, Q, K]`` attention weights of every stack, "encoder", "decoder" and "cross", as far as there is one.

    ``captured`` is what a model returns beside its logits. Raises ValueError when it holds no weights.
    """
    maps: dict[str, Array] = {}
    for stack, activations in captured.items():
        if not isinstance(activations, Mapping):
            continue
        for name, key in ((stack, "attention_weights"), ("cross", "cross_attention_weights")):
            found = [layer[key] for layer in activations["layers"] if key in layer]
            if any(weights is None for weights in found):
                raise ValueError(f"the {name} gave no attention weights: call the model with capture=True")
            if found:
                maps[name] = jnp.stack(found, axis=1)
    if not maps:
        raise ValueError("the captured activations hold no attention weights: call the model with capture=True")
    return maps


def compare(first: tuple[Array, Any], second: tuple[Array, Any], real: Mapping[str, Array]) -> Change:
    """Differences between two calls of a model with ``capture=True`` on the same content at other positions.

    Args:
      first, second: ``(logits, captured)``, logits ``[B, S, C]`` or, pooled, ``[B, C]``.
      real: stack ("encoder", "decoder") -> ``[B, S]``, nonzero at the tokens of that stack that count. Predictions are
        those of the decoder if there is one; a query of cross-attention is a token of the decoder.

    The KL divergence is summed as ``p (e^x - 1 - x)``, x the change of a log-probability: equal to ``-p x`` since both
    distributions sum to one, never below zero but for rounding, and right for changes far below the rounding of a
    log-probability. Works under `jax.jit`; there `check_change` finds what is not finite afterwards.

    Raises:
      ValueError: no attention weights.
    """
    maps, other_maps = attention_maps(first[1]), attention_maps(second[1])
    old, new = (jax.nn.log_softmax(call[0], axis=-1) for call in (first, second))
    weights: Array
    if old.ndim == 2:
        old, new, weights = old[:, None], new[:, None], jnp.ones((len(old), 1), old.dtype)
    else:
        weights = _share(real["decoder" if "decoder" in real else "encoder"], old.dtype)
    moved = new - old
    kl = jnp.sum(jnp.exp(old) * (jnp.expm1(moved) - moved), axis=-1)
    other = jnp.argmax(old, axis=-1) != jnp.argmax(new, axis=-1)
    largest = jnp.max(jnp.abs(moved), axis=-1)

    def variation(stack: str) -> Array:
        share = _share(real["decoder" if stack == "cross" else stack], old.dtype)[:, None, None]
        return jnp.sum(share * jnp.sum(jnp.abs(maps[stack] - other_maps[stack]), axis=-1) / 2, axis=-1)

    return Change(
        kl=jnp.sum(weights * kl, axis=-1),
        argmax=jnp.sum(weights * other, axis=-1),
        largest=jnp.max(jnp.where(weights > 0, largest, 0), axis=-1),
        attention={stack: variation(stack) for stack in maps},
    )


def _share(real: Array, dtype: Any) -> Array:
    """``[B, S]`` weights that are equal over the real tokens of a row and sum to 1."""
    real = jnp.asarray(real != 0, dtype)
    return real / jnp.maximum(jnp.sum(real, axis=1, keepdims=True), 1)


def check_change(change: Change) -> Change:
    """Returns the change; ValueError if it is not finite, as with positions beyond a learned table."""
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(change)):
        raise ValueError(
            "the change is not finite: positions beyond a learned table give NaN; keep start + tokens within its rows"
        )
    return change
