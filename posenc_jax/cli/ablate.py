"""``posenc ablate CONFIG``: a comparison from its config."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import UsageError, refusing
from posenc_jax.cli.overrides import RunArguments, named_anew, override_each, override_run
from posenc_jax.cli.own_files import refuse_unusable
from posenc_jax.cli.report import final_report
from posenc_jax.cli.screen import shell_words, show
from posenc_jax.cli.session import load_config, of_config, prepare_jax, stoppable, trust
from posenc_jax.cli.sized_to_corpus import ON, ablation_on_corpus, refuse_elsewhere, shown_and_kept
from posenc_jax.cli.spread import HELP, read_spread, run_group, runner
from posenc_jax.config import Ablation, Run
from posenc_jax.files.names import file_name
from posenc_jax.files.user_paths import full

DESCRIPTION = (
    "Run every cell of the ablation in CONFIG, a Python file with a variable `config`, then write results.jsonl and "
    "report.html. With --on CORPUS in place of CONFIG, compare --posenc ENCODING ... (default: nope, sinusoidal, "
    "learned and rope) in a run that is sized to a text corpus and this machine. Run the same command again to "
    "resume. Overrides apply to every cell."
)


def main(arguments: list[str]) -> int:
    """Runs the command.

    Examples:
      posenc ablate configs/demo.py
          run all cells and seeds, then write the report
      posenc ablate configs/demo.py --seeds 0 1 --directory runs/two
          run two seeds, into another directory
      posenc ablate --on own/plays --posenc nope alibi t5
          compare encodings on your own texts
    """
    options = "[--directory DIR] [--executor local|slurm ...]"
    return of_config(arguments, "ablate", options, (DESCRIPTION, HELP), _ablate)


def _ablate(config_file: str, arguments: list[str]) -> int:
    prepare_jax()  # before the config: one that computes would fix the devices
    spread = read_spread(arguments)
    if spread.executor == "slurm":
        refuse_elsewhere(config_file, "--executor slurm")
    asked = spread.overrides
    if config_file.startswith(ON):
        config, asked = ablation_on_corpus(config_file.removeprefix(ON), asked)
    else:
        config = load_config(config_file, Ablation, "ablate")
    config, chosen = override_all(config, asked, f"posenc ablate {config_file}")
    directory = full(chosen.directory or Path("runs") / file_name(config.name)).absolute()
    for source in chosen.trust:
        trust(source)
    from posenc_jax.cli.progress import AblationReporter
    from posenc_jax.runs.errors import FailedCellsError
    from posenc_jax.runs.trackers import Tracked

    refuse_unusable(config)
    failed = None
    with (
        AblationReporter() as terminal,
        Tracked(terminal, directory, chosen.track, spread.group) as reporter,
        stoppable() as stop,
    ):
        more: dict[str, Any] = {"accept_changed_code": chosen.accept_changed_code, "reporter": reporter, "stop": stop}
        if spread.group is not None:
            run_group(config, directory, spread.group, **more)
            return 0
        ablate = runner(config, config_file, directory, spread, reporter, stop)
        try:
            with shown_and_kept(config, config_file, directory):
                ablate(config, directory, **more)
        except FailedCellsError as error:
            failed = error
    commands = [shell_words(("posenc", "ablate", config_file, *arguments))]
    written = final_report(
        directory, commands, "the results of the other cells are" if failed else "the results are complete"
    )
    if failed:
        raise failed
    if not written:
        return 1
    show(f"complete: {directory}")
    return 0


def overridden(config: Run | Ablation, overrides: list[str], program: str, description: str) -> Run | Ablation:
    """A config with the overrides of `posenc train`, or those of `posenc ablate`, without those about directories."""
    if isinstance(config, Ablation):
        return override_all(config, overrides, program, description)[0]
    return override_run(config, overrides, program, description).run


def override_all(
    config: Ablation, overrides: list[str], program: str, description: str = DESCRIPTION
) -> tuple[Ablation, RunArguments]:
    """The ablation with the overrides in every run, and those that are not about runs (beside the last one); UsageError
    if one does not fit.
    """
    runs: list[Run] = []
    names = ("table",) * (len({run.table for run in config.runs}) == 1)  # of several, the config file says what differs
    starts: dict[str | None, str] = {}
    each = override_each(
        config.runs, overrides, program, f"{description} The defaults shown are those of the first cell."
    )
    for run, changed in zip(config.runs, each, strict=True):
        start = starts.get(run.init_from)  # the cell that this one starts from has changed too
        changed = dataclasses.replace(changed, run=named_anew(run, changed.run, overrides, names))
        runs.append(changed.run if start is None else dataclasses.replace(changed.run, init_from=start))
        starts[run.as_start] = runs[-1].as_start
    for field in ("posenc", "posenc_encoder", "posenc_cross", "label", "table"):
        if len({getattr(run, field) for run in runs}) < len({getattr(run, field) for run in config.runs}):
            raise UsageError(
                f"--{field.replace('_', '-')} is what the cells of this ablation differ in: change its config file, "
                "or use posenc train for a single run"
            )
    if runs == list(config.runs):
        return config, changed
    _refuse_equal(config.runs, runs)
    with refusing():
        return dataclasses.replace(config, runs=tuple(runs)), changed


def _refuse_equal(before: Sequence[Run], after: Sequence[Run]) -> None:
    seen: dict[Run, tuple[Run, Run]] = {}
    for old, new in zip(before, after, strict=True):
        settings = dataclasses.replace(new, label="", table="")
        first, named = seen.setdefault(settings, (old, new))
        if new is not named and dataclasses.replace(old, label="", table="") != dataclasses.replace(
            first, label="", table=""
        ):
            raise UsageError(
                f"with these overrides {named.table} {named.label} and {new.table} {new.label} are one run under two "
                "names: leave out what these cells differ in, or change the config file"
            )
