"""Checks that the processes that train one run together agree: RefusedError in every one of them where they do not."""

from typing import Any

from posenc_jax.config import Run, difference, to_json
from posenc_jax.environments import OF_PROCESS, compared, of_process
from posenc_jax.runs.digests import digest
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.training.processes import agreed, count, everyone


def refuse_other_configs(config: Run) -> None:
    """Refuses processes that were given different configs."""
    if count() > 1:
        own = to_json(config)
        lines = difference(agreed(lambda: own), own)
        _refuse("; ".join(lines), "have different configs: start all with the same command")


def refuse_other_environments() -> None:
    """Refuses processes that draw different random numbers."""
    if count() > 1:
        here = of_process(environment())
        lines = compared(agreed(lambda: here), here, OF_PROCESS).draws
        _refuse("; ".join(lines), "draw different random numbers: start all with the same settings and versions")


def refuse_other_states(state: Any) -> None:
    """Refuses processes that do not begin with the same state ``[R, ...]``, bit for bit."""
    if count() > 1:
        own = digest(state)
        other = "" if own == agreed(lambda: own) else "the values of its parameters"
        _refuse(other, "begin with other parameters: start all on machines of one kind, with the same versions")


def _refuse(differs: str, what: str) -> None:
    """RefusedError in all processes where one ``differs`` from the first."""
    for index, lines in enumerate(everyone(differs)):
        if lines:
            raise RefusedError(
                f"the {count()} processes of this run {what}. Process {index} differs from the first in {lines}"
            )
