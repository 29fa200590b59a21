"""Kills a small ablation at random moments, and compares what the same command makes of it with one that ran
undisturbed, bit for bit; `scripts/faults` runs it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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


class Small:
    """A small ablation, which ran undisturbed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, folder / "tiny.py"
        self.config.write_text(CONFIG.replace("POSENC", '("randomized(max_position=32)|learned",)'))
        begun = time.monotonic()
        self.expected: dict[str, object] = {}
        if "exit code" in (failed := self.resumed("undisturbed")):
            raise SystemExit(f"scripts/faults: the undisturbed ablation failed: {failed}")
        self.seconds = time.monotonic() - begun
        self.expected = outcome(folder / "undisturbed")

    def start(self, name: str) -> subprocess.Popen[str]:
        """A process of the command that runs it in a folder of its own."""
        words = ["ablate", str(self.config), "--directory", str(self.folder / name)]
        command = [sys.executable, "-m", "posenc_jax", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def resumed(self, name: str) -> str:
        """What differs after the same command once more, or its error; "" for the same bits."""
        process = self.start(name)
        _, said = process.communicate()
        if process.returncode:
            return f"exit code {process.returncode}: {said.strip().splitlines()[-1]}"
        found = outcome(self.folder / name)
        return ", ".join(path for path in {**found, **self.expected} if found.get(path) != self.expected.get(path))


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


def main(arguments: list[str] | None = None) -> int:
    """Prints what differs, and how many kills changed nothing; 1 if one changed something."""
    parser = argparse.ArgumentParser(prog="scripts/faults", description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=60, help="how many (default 60)")
    kills = parser.parse_args(arguments).kills
    if kills < 1:
        parser.error(f"{kills} kills: at least one is tried")
    os.environ |= {"NPROC": "2", "JAX_PLATFORMS": "cpu"}  # bits repeat with the same threads
    same = 0
    with tempfile.TemporaryDirectory() as folder:
        small = Small(Path(folder))
        for number in range(kills):
            seconds = random.Random(number).uniform(0, small.seconds)
            shutil.rmtree(small.folder / "killed", ignore_errors=True)
            process = small.start("killed")
            time.sleep(seconds)
            process.kill()
            process.communicate()
            differs = small.resumed("killed")
            same += not differs
            if differs:
                print(f"kill {number}, after {seconds:.2f} s: {differs}", flush=True)
    print(f"{same} of {kills} killed ablations ended with the same bits")
    return int(same < kills)


if __name__ == "__main__":
    sys.exit(main())
