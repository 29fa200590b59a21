"""Two processes with two devices each train one run together: the results of one process with four. And a checkpoint
of four devices is measured and gone on with on one and on two.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import processes
import pytest
from text_runs import ROWS, small_corpus

sys.path.insert(0, str(processes.ROOT / "scripts"))
from faults import outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

CONFIG = """
from posenc_jax import Evaluation, Execution, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Copying

config = Run(
    task=Copying(kind="cmc", max_length=3, num_symbols=4),
    model=Transformer(d_model=16, num_layers=1, num_heads=2, dropout=0.1),
    posenc=parse("rope"),
    training=Training(
        steps=120, batch_size=8, steps_per_call=4, log_every=4,
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
        return self.posenc("train", "one.py", "--directory", str(self.folder / name), *more, devices=devices, log=log)

    def posenc(self, *arguments: str, devices: int, log: str = "log") -> subprocess.Popen:
        environment = processes.environment(devices)
        with (self.folder / log).open("ab") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "posenc_jax", *arguments],
                env=environment,
                cwd=self.folder,
                stdout=output,
                stderr=output,
            )

    def two(self, name: str, second: tuple[str, ...] = ()) -> list[subprocess.Popen]:
        """Both; ``second``: more words of the second's command."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{free.getsockname()[1]}"
        options = ("--coordinator", place, "--processes", "2")
        return [self.start(name, *options, "--process", str(i), *(second * i), log=f"log{i}") for i in (0, 1)]

    def finish(self, started: list[subprocess.Popen]) -> list[int]:
        logs = ["log"] if len(started) == 1 else ["log0", "log1"]
        return [processes.finish(process, self.folder / log, 600) for process, log in zip(started, logs, strict=True)]

    def result(self, name: str) -> dict:
        found = json.loads((self.folder / name / "group-000" / "result.json").read_text())
        return {key: value for key, value in found.items() if key not in LEFT_OUT}

    def rows(self, name: str) -> int:
        """How many are written."""
        metrics = self.folder / name / "group-000" / "metrics.jsonl"
        return metrics.read_bytes().count(b"\n") if metrics.exists() else 0

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


@pytest.fixture(scope="module")
def split(tmp_path_factory) -> Both:
    """Four devices share the batches of all replicas and hold a part of the optimizer's moments each."""
    both = Both(tmp_path_factory.mktemp("split"), "data=4")
    assert both.finish(both.two("together")) == [0, 0], both.said()
    assert both.finish([both.start("alone", devices=4)]) == [0], both.said()
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
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["112", "120"]
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    losses = [(row["step"], row["seed"]) for row in rows if "loss" in row]
    assert losses == [(step, seed) for step in range(4, 121, 4) for seed in range(4)], "one writer"


@pytest.mark.parametrize(("kind", "killed"), [("replicas", 0), ("split", 1)])
def test_a_killed_process_ends_the_other_in_words_and_the_same_command_goes_on(request, kind, killed):
    both: Both = request.getfixturevalue(kind)
    name = f"killed{killed}"
    started = both.two(name)
    assert processes.signal_when(started[killed], lambda: both.rows(name) > 60, signal.SIGKILL, 600), both.said()
    assert started[1 - killed].wait(60) == 1
    said = (both.folder / f"log{1 - killed}").read_text()
    assert f"posenc: process {1 - killed} of 2 lost the others, for one has ended (" in said
    assert "start all again with the same commands to go on" in said
    assert "Traceback" not in said
    assert both.finish(both.two(name)) == [0, 0], both.said()
    assert outcome(both.folder / name) == outcome(both.folder / "together")


def test_sigterm_to_one_stops_both_with_their_state_saved(replicas):
    started = replicas.two("stopped")
    assert processes.signal_when(started[1], lambda: replicas.rows("stopped") > 60, signal.SIGTERM, 600)
    assert replicas.finish(started) == [143, 143], replicas.said()
    for i in (0, 1):
        last = (replicas.folder / f"log{i}").read_text().splitlines()[-1]
        assert f"of 120, saved in {replicas.folder / 'stopped' / 'group-000'}. Run the same command again" in last
    assert replicas.finish(replicas.two("stopped")) == [0, 0], replicas.said()
    assert outcome(replicas.folder / "stopped") == outcome(replicas.folder / "together")


def test_different_configs_are_refused_in_all_in_a_line(replicas):
    for log in replicas.folder.glob("log*"):
        log.unlink()
    assert replicas.finish(replicas.two("other", ("--training.steps", "400"))) == [2, 2], replicas.said()
    for i in (0, 1):
        said = (replicas.folder / f"log{i}").read_text()
        assert [line for line in said.splitlines() if line.startswith("posenc: ")] == [
            "posenc: the 2 processes of this run have different configs: start all with the same command. Process 1 "
            "differs from the first in training.steps: 120 -> 400"
        ]
        assert "Traceback" not in said
    assert not (replicas.folder / "other").exists()


def test_a_split_batch_gives_the_same_up_to_rounding(split):
    alone, found = split.result("alone"), split.result("together")
    assert found["mode"] == "vmap"
    assert numbers(found["replicas"]) == pytest.approx(numbers(alone["replicas"]), rel=1e-3, abs=1e-3)
    assert len(numbers(found["replicas"])) > 20


@pytest.mark.parametrize(("source", "devices"), [("together", 1), ("alone", 2)])
def test_a_checkpoint_of_four_devices_is_measured_and_gone_on_with_on_fewer(split, source, devices):
    expected = numbers(split.result("alone")["replicas"])
    copy = f"{source}-{devices}"
    shutil.copytree(split.folder / source, split.folder / copy)
    started = split.posenc("evaluate", str(split.folder / copy), "--lengths", "2", "3", devices=devices)
    assert split.finish([started]) == [0], split.said()
    (file,) = (split.folder / copy / "evaluations").glob("*.json")
    found = {(row["seed"], row["length"]): row for row in json.loads(file.read_text())["rows"]}
    for replica in split.result(source)["replicas"]:
        for scores in replica["evaluation"]:
            row = found[replica["seed"], scores["length"]]
            assert {name: row[name] for name in scores} == pytest.approx(scores, rel=1e-4, abs=1e-4)
    group = split.folder / copy / "group-000"
    (group / "result.json").unlink()
    shutil.rmtree(group / "checkpoints" / "120")
    refused = split.start(copy, devices=devices)
    assert split.finish([refused]) == [2]
    assert "posenc: execution.data x execution.model = 4 devices are asked for" in split.said()
    started = split.start(copy, "--execution.data", str(devices), devices=devices)
    assert split.finish([started]) == [0], split.said()
    assert numbers(split.result(copy)["replicas"]) == pytest.approx(expected, rel=1e-3, abs=1e-3)
    assert sorted(path.name for path in (group / "checkpoints").iterdir()) == ["112", "120"]


TEXT = """
from posenc_jax import Evaluation, Execution, Run, Training, Transformer, parse
from posenc_jax.data.text import Data, Translation

config = Run(
    task=Translation(data=Data(name="own/help-en-de", tokenizer="bytes", in_memory=False), max_length=12, row=32),
    model=Transformer(d_model=16, num_layers=1, num_heads=2),
    posenc=parse("sinusoidal"),
    training=Training(steps=20, batch_size=8, steps_per_call=5, log_every=5, validation_batches=1),
    evaluation=Evaluation(lengths=(12,), num_examples=8, decoded_examples=4),
    seeds=(0, 1, 2, 3), learning_rates=(1e-2,), execution=Execution(mode="devices"),
)
"""


def test_text_is_read_by_each_process_for_its_own_replicas(tmp_path):
    both = Both(tmp_path, "")
    (tmp_path / "one.py").write_text(TEXT)
    with small_corpus("own/help-en-de", ROWS["translation"], tmp_path / "data"):
        assert both.finish(both.two("together")) == [0, 0], both.said()
        assert both.finish([both.start("alone", devices=4)]) == [0], both.said()
    assert both.result("together") == both.result("alone")
    decoded = [tmp_path / name / "group-000" / "decoded.jsonl" for name in ("together", "alone")]
    assert decoded[0].read_text() == decoded[1].read_text()
