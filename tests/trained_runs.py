"""A tiny finished run that several test modules start from; each works on a copy."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import session

from posenc_jax.config import Evaluation, Execution, Run, Training
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.encodings import Learned, RoPE
from posenc_jax.models.config import Transformer
from posenc_jax.runs.cell import run
from posenc_jax.runs.reporter import Reporter

CONFIG = Run(
    task=Copying(kind="cmc", max_length=3, num_symbols=3),
    model=Transformer(d_model=16, num_layers=1, num_heads=2, dropout=0.1),
    posenc=(RoPE(), Learned()),
    training=Training(
        steps=20,
        batch_size=4,
        steps_per_call=5,
        log_every=5,
        checkpoint_every=10,
        validate_every=10,
        validation_batches=2,
    ),
    evaluation=Evaluation(lengths=(2, 3, 5), num_examples=8),
    execution=Execution(mode="map", group_size=2),
    seeds=(0, 1),
    learning_rates=(1e-2,),
)


class Notes(Reporter):
    """Remembers what a user would read."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


@functools.cache
def _trained() -> Path:
    return session.made_once("run", lambda place: run(CONFIG, place, reporter=Reporter()))


def copy_of_the_run(place: Path) -> Path:
    """A copy of the directory of `CONFIG`, trained and measured."""
    return Path(shutil.copytree(_trained(), place))


def contents(directory: Path) -> dict[str, tuple[int, bytes]]:
    """Time of the last change and bytes of every file but the locks."""
    return {
        str(path.relative_to(directory)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
