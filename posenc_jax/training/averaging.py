"""The mean of the parameters over the last checkpoints (`Training.averaged_checkpoints`), kept in the state."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from posenc_jax.config import Training
from posenc_jax.encodings.base import Array, Params


def averages(training: Training) -> bool:
    """True if the state has an average of parameters."""
    return training.averaged_checkpoints > 1


def averaged(training: Training, average: Params, params: Params, step: Array) -> Params:
    """The average after ``step`` updates: at checkpoint number k of those that count ::

        average_k = average_(k-1) + (params - average_(k-1)) / k

    and what it was in between. So parameters that are not trained stay what they are, to the bit.
    """
    every = training.checkpoint_every
    first = training.steps - (training.averaged_checkpoints - 1) * every
    counts = (step >= first) & ((step - first) % every == 0)
    number = (step - first) // every + 1
    new: Params = jax.tree.map(lambda a, p: jnp.where(counts, a + (p - a) / number, a), average, params)
    return new


def measured(training: Training, state: Any) -> Any:
    """A finished group's state ``[R, ...]``, as host arrays, with the parameters that are measured: of replicas that
    did not diverge the average.
    """
    if not averages(training):
        return state
    alive = np.asarray(state["diverged_at"]) < 0

    def chosen(average: Array, params: Array) -> np.ndarray:
        return np.where(alive.reshape(-1, *(1,) * (np.ndim(params) - 1)), average, params)

    return {**state, "params": jax.tree.map(chosen, state["average"], state["params"])}
