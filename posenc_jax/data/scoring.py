"""Scores of logits on a batch of examples: sums, so that chunks, microbatches and devices add up, and their means."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from posenc_jax.data.example import Example
from posenc_jax.encodings.interface.base import Array, at_least_float32


def token_losses(logits: Array, targets: Array) -> Array:
    """``[..., S]`` cross-entropy in nats of ``logits [..., S, C]`` against ``targets [..., S]``, in at least float32.

    ``loss = log(sum_c exp(z_c)) - z_target`` with ``z = logits - max(logits)``: the shift comes first, so that a small
    loss keeps its digits beside large logits. A target that is none of the C classes has the loss NaN.
    """
    logits = logits.astype(at_least_float32(logits.dtype))
    shifted = logits - jax.lax.stop_gradient(jnp.max(logits, axis=-1, keepdims=True))
    classes = jax.lax.broadcasted_iota(jnp.int32, logits.shape, logits.ndim - 1)
    chosen = classes == targets[..., None]  # a comparison, not a gather, whose gradient would be a scatter
    losses = jnp.log(jnp.sum(jnp.exp(shifted), axis=-1)) - jnp.sum(jnp.where(chosen, shifted, 0), axis=-1)
    # Added, and no part of the gradient: the programs of training keep their bits.
    return losses + jax.lax.stop_gradient(jnp.where((targets >= 0) & (targets < logits.shape[-1]), 0, jnp.nan))


def smoothed_loss(logits: Array, example: Example, smoothing: float) -> Array:
    """``[]`` the weighted sum of cross-entropies against targets that are smoothed::

        loss = -sum_c q_c log p_c,     q_c = (1 - smoothing) [c is the target] + smoothing / C

    over all C classes, in nats and in at least float32. The loss in `scores` is not smoothed, so it can be compared
    with that of another training.

    Reference: Szegedy, C. et al. (2016). Rethinking the Inception Architecture for Computer Vision. arXiv:1512.00567,
    section 7.
    """
    weights = example.weights.astype(at_least_float32(logits.dtype))
    uniform = -jnp.mean(jax.nn.log_softmax(logits.astype(weights.dtype), axis=-1), axis=-1)
    losses = (1 - smoothing) * token_losses(logits, example.targets) + smoothing * uniform
    return jnp.sum(jnp.where(weights != 0, losses, 0) * weights)


def correct_tokens(logits: Array, targets: Array) -> Array:
    """``[..., S]`` True where the largest logit (the first of equals) is the target's; never where a logit is NaN.

    Two plain reductions are faster on CPU than an argmax, whose reduction carries pairs.
    """
    num_classes = logits.shape[-1]
    largest = jnp.max(logits, axis=-1, keepdims=True)  # NaN if any is, and then equal to nothing
    first = jnp.min(jnp.where(logits == largest, jnp.arange(num_classes), num_classes), axis=-1)
    return (first == targets) & (targets < num_classes)


def exact_match(logits: Array, example: Example) -> Array:
    """``[B]`` True where every weighted target of an example is right; False for an example without any.

    For a decoder this is what greedy decoding would score: until the first mistake both read the same tokens, and
    after it the example is lost.
    """
    weighted = example.weights != 0
    return jnp.all(correct_tokens(logits, example.targets) | ~weighted, axis=-1) & jnp.any(weighted, axis=-1)


def sums_by_group(values: Array, group: Array | None, count: int) -> Array:
    """``[count]``: the sums of ``values [B]`` (True is 1) over the examples of each ``group [B]``, which they have."""
    assert group is not None
    member = jax.nn.one_hot(group, count)
    return jnp.sum(member * values.astype(member.dtype)[:, None], axis=0)


def shares(names: Sequence[str], part: Any, whole: Any) -> dict[str, float | None]:
    """``part / whole`` by name; None where the whole is 0."""
    return {name: float(a / b) if b else None for name, a, b in zip(names, part, whole, strict=True)}


def scores(logits: Array, example: Example) -> dict[str, Array]:
    """Sums over a batch: divide them only after all parts have been added.

    Args:
      logits: ``[B, S, C]`` (``[B, T, C]`` for an encoder-decoder), any float dtype; computed in at least float32.
      example: the batch; only ``targets`` and ``weights`` are read. Where the weight is 0, neither logits nor targets
        are seen, whatever they hold.

    Returns:
      The scalars ``loss_sum`` (weighted cross-entropy in nats) and ``correct_sum`` (weighted right tokens), to be
      divided by ``weight_sum``; ``exact_sum`` (examples with every weighted token right), to be divided by
      ``example_count`` (examples with any weight).
    """
    dtype = at_least_float32(logits.dtype)
    weights = example.weights.astype(dtype)
    losses = jnp.where(weights != 0, token_losses(logits, example.targets), 0)
    return {
        "loss_sum": jnp.sum(losses * weights),
        "correct_sum": jnp.sum(correct_tokens(logits, example.targets).astype(dtype) * weights),
        "weight_sum": jnp.sum(weights),
        "exact_sum": jnp.sum(exact_match(logits, example), dtype=dtype),
        "example_count": jnp.sum(jnp.any(weights != 0, axis=-1), dtype=dtype),
    }


def means(sums: dict[str, Array]) -> dict[str, Array]:
    """Loss and accuracy per weighted target, exact match per example, how many examples there were, and the sums that
    the task adds of its own. A mean of nothing is NaN (null in files), never the best score there is.
    """
    weight, count = (jnp.where(n > 0, n, jnp.nan) for n in (sums["weight_sum"], sums["example_count"]))
    standard = ("loss_sum", "correct_sum", "weight_sum", "exact_sum", "example_count")
    return {
        **{name: total for name, total in sums.items() if name not in standard},
        "loss": sums["loss_sum"] / weight,
        "accuracy": sums["correct_sum"] / weight,
        "exact_match": sums["exact_sum"] / count,
        "count": sums["example_count"],
    }
