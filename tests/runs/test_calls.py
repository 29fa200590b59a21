"""Nothing waits in the loop that need not: metrics are read a call late, and the disk is waited for at checkpoints."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os

import pytest
from trained_runs import CONFIG

from posenc_jax.files.checksums import read_lines
from posenc_jax.runs.cell import run
from posenc_jax.runs.checkpoint import Checkpoints
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.timing import Meter, Timings
from posenc_jax.training.replicas import Program

PLAIN = dataclasses.replace(
    CONFIG.training, steps=20, steps_per_call=5, log_every=5, checkpoint_every=0, validate_every=0
)
RUN = dataclasses.replace(CONFIG, training=PLAIN)


@pytest.fixture
def events(monkeypatch):
    """What happened, in order: "call" of the training program, "wait" for its metrics, "fsync" of metrics.jsonl."""
    found: list[str] = []
    call, waiting, fsync = Program.__call__, Timings.waiting, os.fsync

    def called(self, *arguments):
        if self.name == "train":
            found.append("call")
        return call(self, *arguments)

    @contextlib.contextmanager
    def waited(self):
        found.append("wait")
        with waiting(self):
            yield

    def synced(handle):
        if os.readlink(f"/proc/self/fd/{handle}").endswith("metrics.jsonl"):
            found.append("fsync")
        fsync(handle)

    monkeypatch.setattr(Program, "__call__", called)
    monkeypatch.setattr(Timings, "waiting", waited)
    monkeypatch.setattr(os, "fsync", synced)
    return found


def in_order(events):
    """What happened, without the waits in which a call is handed over."""
    return [event for event, after in zip(events, [*events[1:], ""], strict=True) if (event, after) != ("wait", "call")]


def test_devices_have_the_next_call_before_the_metrics_of_one_are_waited_for(events, tmp_path):
    run(RUN, tmp_path / "run", reporter=Reporter())
    assert in_order(events) == ["call", "call", "wait", "call", "wait", "call", "wait", "wait", "fsync"]


def test_at_a_checkpoint_all_is_read_and_on_disk_and_nothing_else_is_waited_for(events, tmp_path):
    training = dataclasses.replace(PLAIN, checkpoint_every=10)
    run(dataclasses.replace(RUN, training=training), tmp_path / "run", reporter=Reporter())
    assert in_order([event for event in events if event != "fsync"]) == ["call", "call", "wait", "wait"] * 2
    assert events.count("fsync") == 2
    # The first of them comes while the next calls run, the second before the run ends.
    assert events.index("fsync") >= 6


def test_the_share_of_the_host_is_written(tmp_path):
    run(RUN, tmp_path / "run", reporter=Reporter())
    text = (tmp_path / "run/group-000/timing.jsonl").read_text()
    (row,) = (row for row in map(json.loads, text.splitlines()) if row.get("phase") == "train")
    assert 0 < row["host_share"] < 1
    meter = Meter(seconds=2.0, waited=1.5)
    assert meter.row("train", 1, 1, None)["host_share"] == 0.25


def test_a_run_whose_replicas_all_diverged_ends_early_with_the_rows_that_there_were(tmp_path):
    wild = dataclasses.replace(RUN, learning_rates=(1e38,), training=dataclasses.replace(PLAIN, steps=40))
    (result,) = run(wild, tmp_path / "run", reporter=Reporter())
    assert {replica["diverged_at"] for replica in result["replicas"]} <= set(range(5))
    rows = [line.row for line in read_lines((tmp_path / "run/group-000/metrics.jsonl").read_bytes())]
    assert [row["step"] for row in rows] == [5, 5]
    assert Checkpoints(tmp_path / "run/group-000/checkpoints").steps()[-1] <= 10
