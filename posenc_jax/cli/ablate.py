"""``posenc ablate CONFIG``: a comparison from its config."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from posenc_jax.cli.errors import UsageError, guarded
from posenc_jax.cli.overrides import automatic_names, override_run
from posenc_jax.cli.session import load_config, prepare_jax, stoppable
from posenc_jax.config import Ablation, Run

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
    changed, directory = override_run(config.runs[0], overrides, f"posenc ablate {config_file}", DESCRIPTION)
    try:
        config = override_all(config, changed)
    except ValueError as error:
        raise UsageError(str(error)) from None
    directory = directory or Path("runs") / config.name
    prepare_jax()
    from posenc_jax.ablation import ablate
    from posenc_jax.cli.progress import TerminalReporter

    with TerminalReporter() as reporter, stoppable() as stop:
        directory = ablate(config, directory, reporter=reporter, stop=stop)
    from posenc_jax.report import text_report

    print(text_report(directory))
    print(f"complete: {directory}")
    return 0


def override_all(config: Ablation, changed: Run) -> Ablation:
    """Every run of the ablation with what ``changed`` changes in the first; ValueError for what cannot apply to all."""
    first = config.runs[0]
    named_anew = automatic_names(first).keys() & automatic_names(changed).keys()
    changes = {path: value for path, value in _changes(first, changed).items() if path[0] not in named_anew}
    for field in {path[0] for path in changes} & {"posenc", "posenc_encoder", "posenc_cross", "label", "table"}:
        if len({getattr(run, field) for run in config.runs}) > 1:
            raise ValueError(
                f"--{field.replace('_', '-')} is what the cells of this ablation differ in: change its config file, "
                "or use posenc train for a single run"
            )
    return dataclasses.replace(config, runs=tuple(_apply(run, changes, automatic_names(run)) for run in config.runs))


def _changes(old: Any, new: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if dataclasses.is_dataclass(old) and type(old) is type(new):
        found: dict[tuple[str, ...], Any] = {}
        for field in dataclasses.fields(old):
            found |= _changes(getattr(old, field.name), getattr(new, field.name), (*path, field.name))
        return found
    return {} if old == new else {path: new}


def _apply(value: Any, changes: dict[tuple[str, ...], Any], names: dict[str, str]) -> Any:
    """All changes of one value at once, so that fields that belong together may change together."""
    direct = {path[0]: new for path, new in changes.items() if len(path) == 1}
    nested: dict[str, dict] = {}
    for path, new in changes.items():
        if len(path) > 1:
            nested.setdefault(path[0], {})[path[1:]] = new
    for name in [*direct, *nested]:
        if not hasattr(value, name):
            raise ValueError(
                f"{type(value).__name__} has no {name}, and an override applies to every cell: "
                "change the config file instead"
            )
    inner = {name: _apply(getattr(value, name), part, {}) for name, part in nested.items()}
    return dataclasses.replace(value, **(names | direct | inner))
