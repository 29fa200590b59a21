"""Two processes with two devices each train one run together: the results of one process with four."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest

sys.path.insert(0, str(processes.ROOT / "scripts"))
from fault_battery.scene import outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

CONFIG = """
from posenc_jax import Evaluation, Execution, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Copying

config = Run(
    task=Copying(kind="cmc", max_length=3, num_symbols=4),
    model=Transformer(d_model=16, num_layers=1, num_heads=2, dropout=0.1),
    posenc=parse("rope"),
    training=Training(
        steps=200, batch_size=8, steps_per_call=4, log_every=4,
        checkpoint_every=8, validate_every=40, validation_batches=2,
    ),
    evaluation=Evaluation(lengths=(2, 3), num_examples=8, draws=2),
    seeds=(0, 1, 2, 3), learning_rates=(1e-2,), execution=Execution(EXECUTION),
)
"""
LEFT_OUT = ("threads", "checksum", "group_size", "bit_exact", "device_count")


class Both:
    """A config, and processes that train it."""

    def __init__(self, folder: Path, execution: str) -> None:
        self.folder = folder
        (folder / "one.py").write_text(CONFIG.replace("EXECUTION", execution))

    def start(self, name: str, *more: str, devices: int = 2, log: str = "log") -> subprocess.Popen:
        arguments = ["train", "one.py", "--directory", str(self.folder / name), *more]
        environment = processes.environment(devices)
        with (self.folder / log).open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "posenc_jax", *arguments],
                env=environment,
                cwd=self.folder,
                stdout=output,
                stderr=output,
            )

    def two(self, name: str) -> list[subprocess.Popen]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{free.getsockname()[1]}"
        options = ("--coordinator", place, "--processes", "2")
        return [self.start(name, *options, "--process", str(i), log=f"log{i}") for i in (0, 1)]

    def finish(self, started: list[subprocess.Popen]) -> list[int]:
        logs = ["log"] if len(started) == 1 else ["log0", "log1"]
        return [processes.finish(process, self.folder / log, 600) for process, log in zip(started, logs, strict=True)]

    def result(self, name: str) -> dict:
        found = json.loads((self.folder / name / "group-000" / "result.json").read_text())
        return {key: value for key, value in found.items() if key not in LEFT_OUT}

    def said(self) -> str:
        return "\n".join(path.read_text()[-3000:] for path in sorted(self.folder.glob("log*")))


def numbers(value) -> list[float]:
    if isinstance(value, dict):
        return [n for inner in value.values() for n in numbers(inner)]
    if isinstance(value, list):
        return [n for inner in value for n in numbers(inner)]
    return [value] if isinstance(value, float) else []


@pytest.fixture(scope="module")
def replicas(tmp_path_factory) -> Both:
    """Each device trains a replica of its own."""
    both = Both(tmp_path_factory.mktemp("replicas"), 'mode="devices"')
    assert both.finish(both.two("together")) == [0, 0], both.said()
    return both


def test_replicas_of_two_processes_are_those_of_one(replicas):
    """The same bits: no replica needs another. One process with four devices has four threads, which may tell in the
    last bits, as documented; here they do not.
    """
    assert replicas.finish([replicas.start("alone", devices=4)]) == [0], replicas.said()
    alone, found = replicas.result("alone"), replicas.result("together")
    assert found["mode"] == "devices"
    assert found == alone
    folder = replicas.folder / "together" / "group-000"
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["192", "200"]
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [(row["step"], row["seed"]) for row in rows if "loss" in row]
    assert losses == [(step, seed) for step in range(4, 201, 4) for seed in range(4)], "one writer"


@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_process_ends_the_other_in_words_and_the_same_command_goes_on(replicas, killed):
    name = f"killed{killed}"
    started = replicas.two(name)
    metrics = replicas.folder / name / "group-000" / "metrics.jsonl"
    reached = processes.signal_when(
        started[killed], lambda: metrics.exists() and metrics.read_bytes().count(b"\n") > 60, signal.SIGKILL, 600
    )
    assert reached, replicas.said()
    begun = time.monotonic()
    assert started[1 - killed].wait(60) == 1
    assert time.monotonic() - begun < 60
    said = (replicas.folder / f"log{1 - killed}").read_text()
    assert f"posenc: process {1 - killed} of 2 lost the others, for one has ended (" in said
    assert "start all again with the same commands to go on" in said
    assert replicas.finish(replicas.two(name)) == [0, 0], replicas.said()
    assert outcome(replicas.folder / name) == outcome(replicas.folder / "together")


def test_sigterm_to_one_stops_both_with_their_state_saved(replicas):
    started = replicas.two("stopped")
    metrics = replicas.folder / "stopped" / "group-000" / "metrics.jsonl"
    assert processes.signal_when(
        started[1], lambda: metrics.exists() and metrics.read_bytes().count(b"\n") > 60, signal.SIGTERM, 600
    )
    assert replicas.finish(started) == [143, 143], replicas.said()
    assert replicas.finish(replicas.two("stopped")) == [0, 0], replicas.said()
    assert outcome(replicas.folder / "stopped") == outcome(replicas.folder / "together")


def test_different_configs_are_refused_in_all(replicas):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    options = ("--coordinator", place, "--processes", "2")
    started = [
        replicas.start("other", *options, "--process", "0", log="log0"),
        replicas.start("other", *options, "--process", "1", "--training.steps", "400", log="log1"),
    ]
    assert replicas.finish(started) == [2, 2], replicas.said()
    line = "posenc: the 2 processes of this run have different configs: start all with the same command."
    assert all(line in (replicas.folder / f"log{i}").read_text() for i in (0, 1))
    assert "training.steps: 200 -> 400" in (replicas.folder / "log1").read_text()
    assert not (replicas.folder / "other").exists()


def test_a_batch_split_over_two_processes_and_its_checkpoint_on_fewer_devices(tmp_path):
    """data = 4: sums over all devices, so equal up to rounding; then evaluated and gone on with on one device."""
    both = Both(tmp_path, "data=4")
    assert both.finish(both.two("together")) == [0, 0], both.said()
    assert both.finish([both.start("alone", devices=4)]) == [0], both.said()
    alone, found = both.result("alone"), both.result("together")
    assert found["mode"] == "vmap"
    assert numbers(found["replicas"]) == pytest.approx(numbers(alone["replicas"]), rel=1e-3, abs=1e-3)
