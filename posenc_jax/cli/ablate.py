"""``posenc ablate CONFIG``: a comparison from its config."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from posenc_jax.cli.errors import UsageError, guarded
from posenc_jax.cli.session import load_config, prepare_jax, stoppable
from posenc_jax.config import Ablation

DESCRIPTION = (
    "Runs every cell of the ablation in a Python file with a variable `config`, then writes results.jsonl and "
    "report.html. The same command again resumes. An override applies to every cell; the defaults shown are those of "
    "the first."
)
USAGE = f"""usage: posenc ablate CONFIG [--directory DIR] [overrides]

{DESCRIPTION}
`posenc ablate CONFIG --help` lists the overrides."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    return guarded(lambda: _ablate(arguments[0], arguments[1:]))


def _ablate(config_file: str, overrides: list[str]) -> int:
    config = load_config(config_file, Ablation, "ablate")
    directory = None
    if overrides:
        config, directory = override_all(config, overrides, f"posenc ablate {config_file}")
    directory = directory or Path("runs") / config.name
    prepare_jax()
    from posenc_jax.cli.progress import TerminalReporter
    from posenc_jax.runs.ablation import ablate

    with TerminalReporter() as reporter, stoppable() as stop:
        directory = ablate(config, directory, reporter=reporter, stop=stop)
    from posenc_jax.report import text_report

    print(text_report(directory))
    print(f"complete: {directory}")
    return 0


def override_all(config: Ablation, overrides: list[str], program: str) -> tuple[Ablation, Path | None]:
    """The ablation with the overrides in every run, and the value of ``--directory``; UsageError if they do not fit."""
    from posenc_jax.cli.overrides import override_run

    runs, directory = [], None
    for number, run in enumerate(config.runs):
        try:
            changed, directory = override_run(run, overrides, program, DESCRIPTION)
        except SystemExit:  # tyro has said it
            if number == 0:
                raise
            raise UsageError(
                f"an override applies to every cell, and {run.table} {run.label} cannot take it: change the config file"
            ) from None
        runs.append(changed)
    for field in ("posenc", "posenc_encoder", "posenc_cross", "label", "table"):
        if len({getattr(run, field) for run in runs}) < len({getattr(run, field) for run in config.runs}):
            raise UsageError(
                f"--{field.replace('_', '-')} is what the cells of this ablation differ in: change its config file, "
                "or use posenc train for a single run"
            )
    try:
        return dataclasses.replace(config, runs=tuple(runs)), directory
    except ValueError as error:
        raise UsageError(str(error)) from None
