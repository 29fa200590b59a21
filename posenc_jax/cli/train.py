"""``posenc train CONFIG``: one run from its config."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from posenc_jax.cli.session import UsageError, guarded, load_config, override, prepare_jax, stoppable
from posenc_jax.config import Run

USAGE = """usage: posenc train CONFIG [--directory DIR] [overrides]

Trains and measures the run of a Python file with a variable `config`. The same command again resumes. `posenc train CONFIG --help` lists the overrides."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """The overrides of a config, and a place."""

    run: Annotated[Run, tyro.conf.arg(name="")]
    directory: Path | None = None
    """Where the run lives (default: runs/ and the cell's name)."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    return guarded(lambda: _train(arguments))


def _train(arguments: list[str]) -> int:
    default = load_config(arguments[0], Run, "train")

    try:
        chosen = override(Arguments, Arguments(default), arguments[1:], f"posenc train {arguments[0]}", USAGE)
    except ValueError as error:
        raise UsageError(str(error)) from None
    directory = chosen.directory or Path("runs") / chosen.run.directory_name
    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.cell import run

    with TerminalReporter() as reporter, stoppable() as stop:
        results = run(chosen.run, directory, reporter=reporter, stop=stop)
    metric = chosen.run.task.metric
    for result in results:
        for replica in result["replicas"]:
            scores = "  ".join(f"{row['length']}: {row[metric]:.3f}" for row in replica["evaluation"])
            state = f"diverged at step {replica['diverged_at']}" if replica["diverged_at"] is not None else f"in range {replica['validation'][metric]:.3f}"
            print(f"seed {replica['seed']}  rate {replica['learning_rate']:g}  {metric} {state}  by length {scores}")
    print(f"complete: {directory}")
    return 0
