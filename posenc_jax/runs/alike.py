"""Checks that processes that train one run together agree."""

from __future__ import annotations

from typing import Any

import jax

from posenc_jax.config import Run, difference, to_json
from posenc_jax.environments import OF_PROCESS, compared, of_process
from posenc_jax.runs.checkpoint import digest
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.training.processes import agreed, count, everyone


def refuse_other_configs(config: Run) -> None:
    """RefusedError in every process where not all were given the same config."""
    if count() == 1:
        return
    firsts = agreed(lambda: to_json(config))
    found = everyone("; ".join(difference(firsts, to_json(config))))
    other = next((index for index, lines in enumerate(found) if lines), None)
    if other is not None:
        raise RefusedError(
            f"the {count()} processes of this run have different configs: start all with the same command. Process "
            f"{other} differs from the first in {found[other]}"
        )


def refuse_other_environments() -> None:
    """RefusedError in every process where not all draw the same random numbers."""
    if count() == 1:
        return
    here = of_process(environment())
    firsts = agreed(lambda: here)
    found = everyone("; ".join(compared(firsts, here, OF_PROCESS).draws))
    other = next((index for index, lines in enumerate(found) if lines), None)
    if other is not None:
        raise RefusedError(
            f"the {count()} processes of this run draw different random numbers: start all with the same settings and "
            f"versions. Process {other} differs from the first in {found[other]}"
        )


def refuse_other_states(state: Any) -> None:
    """RefusedError in every process where not all begin with the same state ``[R, ...]``, bit for bit."""
    if count() == 1:
        return
    found = everyone(digest(state))
    other = next((index for index, own in enumerate(found) if own != found[0]), None)
    if other is not None:
        raise RefusedError(
            f"process {other} of {count()} begins with other parameters than the first: start all on machines of one "
            f"kind, with the same versions (this is process {jax.process_index()} on {jax.devices()[0].device_kind})"
        )
