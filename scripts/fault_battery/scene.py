"""A small ablation, its undisturbed outcome, and what became of one that something was done to."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CONFIG = """
from posenc_jax import Ablation, Evaluation, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Copying

def cell(posenc):
    return Run(
        task=Copying(kind="cmc", max_length=3, num_symbols=4),
        model=Transformer(d_model=16, num_layers=1, num_heads=2, dropout=0.1),
        posenc=parse(posenc),
        training=Training(
            steps=80, batch_size=4, steps_per_call=4, log_every=4,
            checkpoint_every=8, validate_every=16, validation_batches=2,
        ),
        evaluation=Evaluation(lengths=(2, 3), num_examples=8, draws=2),
        seeds=(0, 1, 2),
        learning_rates=(1e-2,),
    )

config = Ablation(name="tiny", runs=tuple(cell(posenc) for posenc in POSENC))
"""
"""Of the file; POSENC stands for its encodings, a tuple of strings."""

SILENT, REFUSED, IDENTICAL, TRACEBACK = "silent", "refused", "identical", "traceback"
OUTCOMES = (SILENT, TRACEBACK, REFUSED, IDENTICAL)
"""Another result without a word; an error that is no refusal; a refusal in words; the same results to the bit."""


@dataclasses.dataclass(frozen=True)
class Ended:
    """A finished process: its exit code, and all that it said."""

    code: int
    said: str


class Scene:
    """A config, a directory where its ablation ran undisturbed, and room for others."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "tiny.py"
        self.config.write_text(CONFIG.replace("POSENC", '("randomized(max_position=32)|learned",)'))
        self.whole = folder / "undisturbed"
        ended = self.ablate(self.whole)
        if ended.code:
            raise SystemExit(f"scripts/faults: the undisturbed ablation failed:\n{ended.said}")
        self.expected = outcome(self.whole)

    def copy(self, name: str) -> Path:
        """A copy of the undisturbed directory."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        return Path(shutil.copytree(self.whole, self.folder / name))

    def unfinished(self, name: str) -> Path:
        """A copy whose first group has checkpoints but no result: the next command goes on from the newest."""
        place = self.copy(name)
        next(place.glob("*/group-000/result.json")).unlink()
        for written in ("results.jsonl", "ablation.json"):
            (place / written).unlink()
        return place

    def start(self, directory: Path, **more: object) -> subprocess.Popen[str]:
        """``posenc ablate`` of the config in ``directory``."""
        return posenc(["ablate", str(self.config), "--directory", str(directory)], **more)

    def ablate(self, directory: Path) -> Ended:
        """Runs the ablation in this process, to its end."""
        return command(["ablate", str(self.config), "--directory", str(directory)])

    def verdict(self, directory: Path, ended: Ended) -> str:
        """The outcome of a command on a directory."""
        if "Traceback" in ended.said:
            return TRACEBACK
        if ended.code:
            return REFUSED if one_line(ended.said) else TRACEBACK
        return IDENTICAL if outcome(directory) == self.expected else SILENT


def posenc(arguments: list[str], **more: object) -> subprocess.Popen[str]:
    """A process of the command line with the environment of this one."""
    return subprocess.Popen(
        [sys.executable, "-m", "posenc_jax", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        **more,  # type: ignore[call-overload]
    )


def command(arguments: list[str]) -> Ended:
    """A command line in this process, which spares imports and compiling."""
    from posenc_jax.cli import main

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except Exception:
            code = 1
            traceback.print_exc()
    return Ended(code, said.getvalue())


def finish(process: subprocess.Popen[str], timeout: float = 600) -> Ended:
    """Its end; a process that hangs is killed and counts as one that said nothing."""
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Ended(-signal.SIGKILL, "")
    return Ended(process.returncode, said)


def one_line(said: str) -> bool:
    """True if the last line is a message of the command line, but for the list of failed cells below it."""
    lines = [line for line in said.splitlines() if line.strip()]
    while lines and lines[-1].startswith("  cmc "):
        lines.pop()
    return bool(lines) and lines[-1].startswith("posenc")


def outcome(directory: Path) -> dict[str, object]:
    """All that must not depend on what was done: rows, results, and the checksums of every final state."""
    found: dict[str, object] = {}
    for pattern in ("**/metrics.jsonl", "**/result.json", "results.jsonl"):
        for path in sorted(directory.glob(pattern)):
            found[str(path.relative_to(directory))] = path.read_text()
    for checkpoints in sorted(directory.glob("**/checkpoints")):
        steps = {int(path.name): path / "_CHECKPOINT_METADATA" for path in checkpoints.iterdir() if path.name.isdigit()}
        whole = [step for step, metadata in steps.items() if metadata.exists()]
        if whole:
            metadata = json.loads(steps[max(whole)].read_text())
            found[f"{checkpoints.relative_to(directory)}/{max(whole)}"] = metadata["custom_metadata"]["leaves"]
    return found


def each(count: int, trial: Callable[[int], str]) -> dict[str, int]:
    """Counts of each outcome in ``count`` trials."""
    counts = dict.fromkeys(OUTCOMES, 0)
    for number in range(count):
        counts[trial(number)] += 1
    return counts
