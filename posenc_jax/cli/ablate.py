"""``posenc ablate CONFIG``: a comparison from its config."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import tyro

from posenc_jax.cli.session import UsageError, guarded, load_config, override, prepare_jax, stoppable
from posenc_jax.config import Ablation, Run

USAGE = """usage: posenc ablate CONFIG [--directory DIR] [overrides]

Runs every cell of the ablation in a Python file with a variable `config`, then writes results.jsonl and report.html. The same command again resumes.
An override applies to every cell. `posenc ablate CONFIG --help` lists them."""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """The overrides of a config, and a place."""

    run: Annotated[Run, tyro.conf.arg(name="")]
    directory: Path
    """Where the ablation lives."""


def main(arguments: list[str]) -> int:
    """Runs the command and returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    return guarded(lambda: _ablate(arguments))


def _ablate(arguments: list[str]) -> int:
    config = load_config(arguments[0], Ablation, "ablate")

    try:
        chosen = override(Arguments, Arguments(config.runs[0], Path("runs") / config.name), arguments[1:], f"posenc ablate {arguments[0]}", USAGE)
        config = override_all(config, chosen.run)
    except ValueError as error:
        raise UsageError(str(error)) from None
    prepare_jax()
    from posenc_jax.ablation import ablate
    from posenc_jax.cli.progress import TerminalReporter

    with TerminalReporter() as reporter, stoppable() as stop:
        directory = ablate(config, chosen.directory, reporter=reporter, stop=stop)
    from posenc_jax.report import text_report

    print(text_report(directory))
    print(f"complete: {directory}")
    return 0


def override_all(config: Ablation, changed: Run) -> Ablation:
    """Every run of the ablation with what ``changed`` changes in the first; ValueError for what the ablation itself varies."""
    changes = _changes(config.runs[0], changed)
    for path in changes:
        if path[0] in ("posenc", "label", "table"):
            raise ValueError(f"--{'.'.join(path)} is what this ablation varies: change its config file, or use posenc train")
    return dataclasses.replace(config, runs=tuple(_apply(run, changes) for run in config.runs))


def _changes(old: Any, new: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if dataclasses.is_dataclass(old) and type(old) is type(new):
        found: dict[tuple[str, ...], Any] = {}
        for field in dataclasses.fields(old):
            found |= _changes(getattr(old, field.name), getattr(new, field.name), (*path, field.name))
        return found
    return {} if old == new else {path: new}


def _apply(run: Any, changes: dict[tuple[str, ...], Any]) -> Any:
    """All changes of one value at once, so that fields that belong together may change together."""
    direct = {path[0]: value for path, value in changes.items() if len(path) == 1}
    nested: dict[str, dict] = {}
    for path, value in changes.items():
        if len(path) > 1:
            nested.setdefault(path[0], {})[path[1:]] = value
    for name in [*direct, *nested]:
        if not hasattr(run, name):
            raise ValueError(f"{type(run).__name__} has no {name}, and an override applies to every cell: change the config file instead")
    return dataclasses.replace(run, **direct, **{name: _apply(getattr(run, name), inner) for name, inner in nested.items()})
