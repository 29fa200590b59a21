"""``--on CORPUS`` in place of a config file: a run sized to a corpus and this machine, shown before it is trained."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from posenc_jax.cli.errors import Parser, UsageError, refusing
from posenc_jax.cli.screen import show
from posenc_jax.config import Ablation, Run, source_of
from posenc_jax.files.atomic import write_atomically

OnCorpus = Annotated[str | None, "CORPUS"]
KEPT = "config.py"
"""The config as a file, in the directory of the run or of the ablation."""


def on_corpus(name: str) -> Run:
    """The run of `config_on` on this machine."""
    from posenc_jax.runs.on_corpus import config_on
    from posenc_jax.runs.targets import target_here

    return config_on(name, target_here())


def ablation_on_corpus(run: Run, words: list[str]) -> tuple[Ablation, list[str]]:
    """An ablation of that run over the encodings that ``--posenc`` names, and the other words."""
    from posenc_jax.cli.own_files import read_slot
    from posenc_jax.runs.on_corpus import ENCODINGS, ablation_on

    parser = Parser(prog="posenc ablate", add_help=False, allow_abbrev=False)
    parser.add_argument("--posenc", nargs="+", default=ENCODINGS)
    chosen, rest = parser.parse_known_args(words)
    with refusing("--posenc: "):
        return ablation_on(run, [read_slot(text) for text in chosen.posenc]), rest


def refuse_elsewhere(corpus: str | None, option: str) -> None:
    """UsageError where ``--on`` would size a run to this machine, and ``option`` trains it on others."""
    if corpus is not None:
        raise UsageError(
            f"--on sizes a run to this machine, and {option} trains on others: begin with the config that "
            f"`posenc new config --on {corpus}` writes"
        )


def about(config: Run | Ablation, name: str, file: Path | str) -> str:
    """The docstring of a config that was made for a corpus, kept in a file."""
    command, run = ("train", config) if isinstance(config, Run) else ("ablate", config.runs[0])
    note = (isinstance(config, Ablation) and config.description) or run.note
    return (
        f"Sized to {name} and a machine by `posenc {command} --on {name}`: {run.task.name.replace('_', ' ')}.\n\n"
        f"    posenc {command} {file}\n\n{note}"
    )


@contextlib.contextmanager
def shown_and_kept(config: Run | Ablation, corpus: str | None, directory: Path) -> Iterator[None]:
    """A context in which a config is run in a directory. A config made for a corpus is shown first, with the time that
    it will take, and is kept there as a file, unless the directory belongs to another run.
    """
    if corpus is None:
        yield
        return
    from posenc_jax.runs.estimate import on_target, seconds_of
    from posenc_jax.runs.targets import target_here

    here, file = Path.cwd(), directory / KEPT
    file = file.relative_to(here) if file.is_relative_to(here) else file
    text, target = source_of(config, about(config, corpus, file)), target_here()
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
