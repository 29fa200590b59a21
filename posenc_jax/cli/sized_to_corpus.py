"""``--on CORPUS`` in place of a config file: a run sized to a corpus and this machine, shown before it is trained."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from posenc_jax.cli.errors import Parser, UsageError, refusing
from posenc_jax.cli.screen import show
from posenc_jax.config import Ablation, Run, source_of
from posenc_jax.files.atomic import write_atomically

ON = "--on="
"""The option joined to the name of its corpus in one word."""
KEPT = "config.py"
"""The config as a file, in the directory of the run or of the ablation."""


def split_first(arguments: list[str]) -> tuple[str, list[str]]:
    """The config file that arguments begin with, or ``--on=CORPUS`` for ``--on CORPUS``; and the other arguments."""
    first, rest = arguments[0], arguments[1:]
    options = [word.partition("=")[0] for word in arguments]
    if "--on" not in options:
        return first, rest
    if first == "--on":
        if not rest or rest[0].startswith("-"):
            raise UsageError("--on needs a corpus, as in --on own/notes: `posenc data list` names those there are")
        first, rest = f"{ON}{rest[0]}", rest[1:]
    if not first.startswith(ON) or "--on" in options[1:] or (rest and not rest[0].startswith("-")):
        raise UsageError("--on CORPUS stands in the place of a config file: give one corpus, or one config file")
    if other := next((option for option in options if option in ("--task", "--data.name", "--task.data.name")), None):
        raise UsageError(f"--on says what is read, and so does {other}: leave one of them out")
    return first, rest


def on_corpus(name: str) -> Run:
    """The run of `config_on` on this machine."""
    from posenc_jax.runs.on_corpus import config_on
    from posenc_jax.runs.targets import target_here

    return config_on(name, target_here())


def ablation_on_corpus(name: str, arguments: list[str]) -> tuple[Ablation, list[str]]:
    """An ablation of that run over the encodings that ``--posenc`` names, and the other arguments."""
    from posenc_jax.cli.own_files import read_slot
    from posenc_jax.runs.on_corpus import ENCODINGS, ablation_on

    parser = Parser(prog="posenc ablate", add_help=False, allow_abbrev=False)
    parser.add_argument("--posenc", nargs="+", default=ENCODINGS)
    chosen, rest = parser.parse_known_args(arguments)
    with refusing("--posenc: "):
        slots = [read_slot(text) for text in chosen.posenc]
    run = on_corpus(name)
    with refusing():
        return ablation_on(run, slots), rest


def refuse_elsewhere(config_file: str, option: str) -> None:
    """UsageError where ``--on`` would size a run to this machine, and ``option`` trains it on others."""
    if config_file.startswith(ON):
        name = config_file.removeprefix(ON)
        raise UsageError(
            f"--on sizes a run to this machine, and {option} trains on others: begin with the config that "
            f"`posenc new config --on {name}` writes"
        )


def about(config: Run | Ablation, name: str, file: Path | str) -> str:
    """The docstring of a config that was made for a corpus, kept in a file."""
    command, run, note = "train", config, ""
    if isinstance(config, Ablation):
        command, run, note = "ablate", config.runs[0], config.description
    assert isinstance(run, Run)
    return (
        f"Sized to {name} and a machine by `posenc {command} --on {name}`: {run.task.name.replace('_', ' ')}.\n\n"
        f"    posenc {command} {file}\n\n{note or run.note}"
    )


@contextlib.contextmanager
def shown_and_kept(config: Run | Ablation, config_file: str, directory: Path) -> Iterator[None]:
    """A context in which a config is run in a directory. A config made by ``--on`` is shown first, with the time that
    it will take, and is kept there as a file, unless the directory belongs to another run.
    """
    if not config_file.startswith(ON):
        yield
        return
    from posenc_jax.runs.estimate import on_target, seconds_of
    from posenc_jax.runs.targets import target_here

    here, file = Path.cwd(), directory / KEPT
    file = file.relative_to(here) if file.is_relative_to(here) else file
    text, target = source_of(config, about(config, config_file.removeprefix(ON), file)), target_here()
    runs = [config] if isinstance(config, Run) else config.runs
    show(f"{text}\n# {on_target(seconds_of(runs, target), target)}")
    stored = directory / "config.json"
    owned = not stored.exists()
    try:
        yield
        owned = True
    finally:
        if owned and stored.is_file() and not (directory / KEPT).exists():
            write_atomically(directory / KEPT, text.encode())
