"""Cells as verdicts and published tables measure them, made of given scores."""

from posenc_jax.verdict.measuring import Measured

_FIELDS = dict(table="t", spec="x", config="", tried={}, diverged=(), num_parameters=1, num_posenc_parameters=0)
_FIELDS |= dict(learning_rates={}, seconds=0.0, memory="", question="")


def measured(scores, label="x", by_length=None, **fields):
    """What a verdict measured, of seeds with such scores, those from 0 or named."""
    scores = scores if isinstance(scores, dict) else dict(enumerate(scores))
    names = dict(label=label, seeds=tuple(scores), scores=scores, by_metric={"score": by_length or {}})
    return Measured(**_FIELDS | names | fields)
