"""The score of guessing, which some scores must be compared with."""

from posenc_jax.config.stored import is_own
from posenc_jax.data.tasks import Task

OF_GUESSES = ("accuracy", "macro_f1")
"""Scores that guessing brings above 0, so that a difference cannot be read without the score of guessing."""


def chance_of(task: Task) -> float | None:
    """The score of guessing; None where it is needed but a user's class does not give it."""
    if task.metric in OF_GUESSES and is_own(type(task)) and type(task).chance is Task.chance:
        return None
    return task.chance or Task.chance_at(task, 0)
