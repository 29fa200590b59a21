"""What a config alone cannot tell: whether this machine, these directories and its task can serve it.

Asked before anything is written and before the training program is compiled.
"""

from __future__ import annotations

import os
from pathlib import Path

from posenc_jax.config import Run
from posenc_jax.data.checks import check_task
from posenc_jax.directories import RefusedError, load_config


def check_writable(directory: Path) -> None:
    """Refuses a directory that cannot be made or written in."""
    there = next(path for path in (directory, *directory.parents) if path.exists())
    if not there.is_dir():
        raise RefusedError(f"cannot write in {directory} ({there} is a file): choose another directory")
    if not os.access(there, os.W_OK | os.X_OK):
        raise RefusedError(f"cannot write in {directory} (no permission in {there}): choose another directory")


def check_run(config: Run) -> None:
    """Refuses a run that asks for absent devices or untrained parameters, or whose task leaves its vocabulary."""
    from posenc_jax.training.replicas import default_group_size, make_mesh

    if config.init_from is not None:
        _check_source(Path(config.init_from).expanduser().absolute(), config)
    try:
        make_mesh(config.execution, config.execution.group_size or default_group_size(config.execution))
        check_task(config.task)
    except ValueError as error:
        raise RefusedError(str(error)) from None


def _check_source(source: Path, config: Run) -> None:
    from posenc_jax.surgery import surviving_seeds
    from posenc_jax.weights import load_weights

    if source.is_file():
        load_weights(source)
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
