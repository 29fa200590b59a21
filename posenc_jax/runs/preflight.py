"""What a config alone cannot tell: whether this machine, these directories and its task can serve it.

Asked before anything is written and before the training program is compiled.
"""

from __future__ import annotations

from pathlib import Path

from posenc_jax.config import Run
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.own_code import own_classes
from posenc_jax.runs.state import surviving_seeds
from posenc_jax.runs.weights import load_weights
from posenc_jax.training.replicas import check_devices


def check_run(config: Run) -> None:
    """Refuses a run that asks for absent devices or untrained parameters, or whose task leaves its vocabulary."""
    if config.init_from is not None:
        _check_source(Path(config.init_from).expanduser().absolute(), config)
    try:
        check_devices(config.execution)
        config.task.check()
    except ValueError as error:
        raise RefusedError(str(error)) from None


def _check_source(source: Path, config: Run) -> None:
    if source.is_file():
        load_weights(source, own=tuple(own_classes(config).values()))
        return
    if not source.is_dir():
        raise RefusedError(
            f"init_from = {config.init_from!r}: there is no such directory; name one of a finished run, or a file that "
            "`posenc weights export` wrote"
        )
    load_config(source)
    there = surviving_seeds(source)
    missing = [seed for seed in config.seeds if seed not in there]
    if missing:
        raise RefusedError(
            f"init_from = {config.init_from!r} has no finished replica of seed {', '.join(map(str, missing))} that did "
            f"not diverge: it has {', '.join(map(str, sorted(there)))}; choose among them, or train the others there"
        )
