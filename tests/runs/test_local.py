"""``posenc ablate --executor local``: two tiny cells; and tasks and the command killed at random, to the same bytes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest

sys.path.insert(0, str(processes.ROOT / "scripts"))
from faults import CONFIG, outcome

KILLS = 8  # of 12 groups


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
def test_tasks_and_the_command_are_killed_at_random(tmp_path):
    config, log, chance = tmp_path / "tiny.py", tmp_path / "log", random.Random(0)
    config.write_text(CONFIG.replace("POSENC", '("rope", "alibi", "learned", "t5")'))

    def ablate(name: str, *more: str) -> subprocess.Popen:
        with log.open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "posenc_jax", "ablate", str(config), "--directory", str(tmp_path / name), *more],
                env=processes.environment(devices=1),
                stdout=output,
                stderr=output,
            )

    def written(name: str) -> dict[str, object]:
        tables = {path.name: path.read_bytes() for path in (tmp_path / name).glob("tables.*")}
        return outcome(tmp_path / name) | tables

    assert processes.finish(ablate("undisturbed"), log, 600) == 0, log.read_text()[-4000:]
    left = {"task": KILLS - KILLS // 4, "command": KILLS // 4}
    for _ in range(KILLS + 1):
        command = ablate("disturbed", "--executor", "local")
        while command.poll() is None:
            time.sleep(chance.uniform(0.5, 5))
            kinds = [kind for kind, count in left.items() for _ in range(count)]
            done = len(list((tmp_path / "disturbed").glob("*/*/result.json")))
            kind = chance.choice(kinds) if KILLS - len(kinds) <= done < 12 and kinds else ""  # from first to last
            if kind == "command" and command.poll() is None:
                command.kill()
                command.wait()
                left[kind] -= 1
            elif kind == "task" and (running := tasks(tmp_path / "disturbed")):
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(chance.choice(running), signal.SIGKILL)
                    left[kind] -= 1
        if command.returncode == 0:
            break
        assert command.returncode in (1, -signal.SIGKILL), log.read_text()[-4000:]
        assert command.returncode != 1 or "signal 9 ended it" in log.read_text()
    assert command.returncode == 0, log.read_text()[-4000:]
    assert left == {"task": 0, "command": 0}
    end = time.monotonic() + 120
    while tasks(tmp_path / "disturbed"):  # those that a killed command left find a result, and end
        assert time.monotonic() < end
        time.sleep(0.1)
    found, expected = written("disturbed"), written("undisturbed")
    assert found.keys() == expected.keys()
    for path, content in expected.items():
        assert found[path] == content, path
    assert not list((tmp_path / "disturbed").glob("**/*unfinished*")), "something unfinished is left"
