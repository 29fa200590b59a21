"""``posenc ablate --executor local``: two tiny cells; and tasks and the command killed at random, to the same bytes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest

sys.path.insert(0, str(processes.ROOT / "scripts"))
from faults import CONFIG, outcome


def tasks(directory: Path) -> list[int]:
    """The processes that work on a group of the ablation there, also those that a killed command has left."""
    found = subprocess.run(["ps", "-ww", "-eo", "pid=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(maxsplit=1) for line in found.splitlines()]
    return [int(pid) for pid, said in lines if str(directory) in said and "--group" in said]


TINY = """
from posenc_jax import Ablation, Evaluation, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Copying

def cell(posenc):
    return Run(
        task=Copying(kind="cmc", max_length=3, num_symbols=4),
        model=Transformer(d_model=8, num_layers=1, num_heads=1),
        posenc=parse(posenc),
        training=Training(steps=1, batch_size=2, steps_per_call=1, log_every=1, validation_batches=1),
        evaluation=Evaluation(lengths=(2,), num_examples=4),
        seeds=(0,),
        learning_rates=(1e-2,),
    )

config = Ablation(name="tiny", runs=tuple(map(cell, ("nope", "learned"))))
"""


def test_two_cells_are_run_at_once_and_told_in_one_record(tmp_path):
    log = tmp_path / "log"
    (tmp_path / "tiny.py").write_text(TINY)
    words = ["ablate", str(tmp_path / "tiny.py"), "--directory", str(tmp_path / "out"), "--executor", "local"]
    assert processes.finish(processes.start(words, log), log) == 0, log.read_text()
    said = log.read_text()
    assert said.endswith(f"complete: {tmp_path / 'out'}\n")
    rows = [json.loads(line)["label"] for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert rows == ["nope", "learned"]
    assert len(list((tmp_path / "out" / "logs").iterdir())) == 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_task_and_the_command_are_killed(tmp_path):
    """One after the other, each while groups are trained; the third call ends with the bytes of an undisturbed one."""
    config, log, place = tmp_path / "tiny.py", tmp_path / "log", tmp_path / "disturbed"
    config.write_text(CONFIG.replace("POSENC", '("rope", "learned")'))

    def ablate(name: str, *more: str) -> subprocess.Popen:
        return processes.start(["ablate", str(config), "--directory", str(tmp_path / name), *more], log)

    def trained(count: int):
        return lambda: len([path for path in place.glob("*/*/metrics.jsonl") if path.stat().st_size]) >= count

    assert processes.finish(ablate("undisturbed"), log, 600) == 0, log.read_text()[-4000:]
    command = ablate("disturbed", "--executor", "local")
    assert processes.signal_when(command, trained(1), 0, 600)
    os.kill(tasks(place)[0], signal.SIGKILL)
    assert processes.finish(command, log, 600) == 1
    assert "signal 9 ended it" in log.read_text()
    shutil.rmtree(next(place.glob("*/group-001")))  # there is something to train again
    command = ablate("disturbed", "--executor", "local")
    assert processes.signal_when(command, lambda: any(tasks(place)), signal.SIGKILL, 600)
    processes.finish(command, log)
    assert processes.finish(ablate("disturbed", "--executor", "local"), log, 600) == 0, log.read_text()[-4000:]
    end = time.monotonic() + 120
    while tasks(place):  # those that a killed command left find a result, and end
        assert time.monotonic() < end
        time.sleep(0.1)
    found, expected = outcome(place), outcome(tmp_path / "undisturbed")
    assert found == expected
    assert not list(place.glob("**/*unfinished*")), "something unfinished is left"
