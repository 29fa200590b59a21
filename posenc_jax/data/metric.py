"""The interface of a metric of one's own: sums over a batch, and the score that their totals give."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, SupportsFloat

import numpy as np

from posenc_jax.data.example import Example
from posenc_jax.data.score_kinds import KINDS
from posenc_jax.encodings.interface.base import Array
from posenc_jax.encodings.interface.parsing import spec
from posenc_jax.encodings.interface.value import Value, WrongReturnError
from posenc_jax.refusals import refuse_twice

# Scores, and the other columns of results.
_STANDARD = (
    *KINDS,
    *("count", "length", "decoded", "validation", "range", "seed", "learning_rate", "diverged_at", "bit_exact"),
    *("validation_loss", "environment"),
    *("task_label", "label", "posenc", "config_hash", "mode", "group_size", "device_kind", "device_count", "threads"),
)


class Metric(Value):
    """Base class of metrics; subclass as a frozen dataclass.

    A metric is measured beside the task's own scores, on the same logits, in validation and at every evaluated length.
    Results have it under its string, as in ``"top_k(k=5)"``; tables show it as a fraction, the larger the better.

    Class facts: ``name``, the word of that string.
    """

    name: ClassVar[str]

    def sums(self, logits: Array, example: Example) -> dict[str, Array]:
        """Sums over a batch, never means, so that chunks and devices add up.

        Args:
          logits: ``[B, S, C]`` (``[B, T, C]`` for an encoder-decoder), float32.
          example: the batch; only where its ``weights`` are not 0 does anything count.
        """
        raise NotImplementedError

    def score(self, sums: Mapping[str, Any]) -> float:
        """The score that totals of `sums` give; NaN where nothing was counted."""
        raise NotImplementedError


def check_metrics(metrics: Sequence[Metric]) -> None:
    """Refuses (ValueError) two metrics of one name, and one with the name of a score that every result has."""
    names = [spec(metric) for metric in metrics]
    for name in names:
        if name in _STANDARD:
            raise ValueError(f"metrics: {name!r} is a column that results have already: give the class another name")
    refuse_twice("metrics", names)


def metric_sums(metrics: Sequence[Metric], logits: Array, example: Example) -> dict[str, Array]:
    """The sums of all metrics, each under its own name."""
    found: dict[str, Any] = {}
    for metric in metrics:
        sums = metric.sums(logits, example)
        if not isinstance(sums, Mapping):
            raise WrongReturnError(
                f"{type(metric).__name__}.sums returns {type(sums).__name__}, and sums are a dict of arrays by name: "
                'write {"right": ...}'
            )
        found |= {f"{spec(metric)} {name}": value for name, value in sums.items()}
    return found


def with_metrics(metrics: Sequence[Metric], scores: Mapping[str, Any]) -> dict[str, Any]:
    """The scores of one replica, with the metrics in place of their sums."""
    found, rest = {}, dict(scores)
    for metric in metrics:
        start = f"{spec(metric)} "
        own = {name.removeprefix(start): rest.pop(name) for name in scores if name.startswith(start)}
        score = metric.score(own)
        if np.ndim(score) or not isinstance(score, SupportsFloat):
            shape = f" of shape {list(np.shape(score))}" if np.ndim(score) else ""
            raise WrongReturnError(
                f"{type(metric).__name__}.score returns {type(score).__name__}{shape}, and a score is one number: sum "
                "over the batch in sums"
            )
        found[spec(metric)] = float(score)
    return {**rest, **found}
