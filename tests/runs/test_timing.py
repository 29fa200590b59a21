"""What ``timing.jsonl`` says of a run, and that no result depends on it."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import json
import os
import struct
import sys
import time
import types

import pytest
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax.extras import MissingExtraError, install_command
from posenc_jax.files.checksums import read_lines
from posenc_jax.runs import programs, timing
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import Group
from posenc_jax.runs.plan import in_record, plan_of
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.targets import target as named_target
from posenc_jax.runs.targets import target_here
from posenc_jax.runs.timing import Meter, Timings
from posenc_jax.runs.trackers import Tracked
from posenc_jax.training.operations import Work, of_length, of_step, of_validation
from posenc_jax.training.replicas import Program


def rows(file):
    return [line.row for line in read_lines(file.read_bytes())]


def test_a_run_says_what_each_phase_took(tmp_path):
    directory = copy_of_the_run(tmp_path / "run")
    found = rows(directory / "group-000" / "timing.jsonl")
    (plan,) = (row["plan"] for row in found if "plan" in row)
    assert plan == json.loads(json.dumps(in_record(plan_of(CONFIG, target_here()))))
    phases = [row for row in found if "phase" in row]
    assert sorted(row["phase"] for row in phases) == ["evaluate", "train", "validate", "validate"]
    training = CONFIG.training
    step = of_step(CONFIG)
    work = {
        "train": step * (2 * training.steps),
        "validate": of_validation(CONFIG) * 2,
        "evaluate": (of_length(CONFIG, 2, 1) + of_length(CONFIG, 3, 1) + of_length(CONFIG, 5, 1)) * 2,
    }
    for row in phases:
        done = work[row["phase"]]
        assert (row["operations"], row["tokens"], row["replicas"]) == (done.operations, done.tokens, 2)
        assert row["steps"] == (training.steps if row["phase"] == "train" else 0)
        assert row["flops_per_second"] == pytest.approx(done.operations / row["seconds"], rel=0.01)
        assert row["tokens_per_second"] == pytest.approx(done.tokens / row["seconds"], rel=0.01)
        assert row["mfu"] == pytest.approx(row["flops_per_second"] / row["peak_flops_per_second"], rel=1e-3)
        assert (row["steps_per_second"] is None) == (row["phase"] != "train")


def test_a_phase_is_written_whatever_ends_it(tmp_path):
    group = Group(tmp_path, tuple((seed, 1e-3) for seed in range(3)), 3, "0123abcd")
    timings = Timings(group, plan_of(CONFIG, target_here()), devices=2)

    def interrupted() -> None:
        with timings.phase("train") as meter:
            meter.add(Work(100, 10), steps=5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with timings.phase("decode"):
        pass  # nothing was done, so there is nothing to say
    (row,) = rows(tmp_path / "timing.jsonl")
    assert (row["phase"], row["steps"], row["operations"], row["devices"]) == ("train", 5, 100, 2)
    assert (row["replicas"], row["config_hash"]) == (3, "0123abcd")


def test_the_part_of_the_peak_is_of_all_devices():
    meter = Meter(Work(6_000, 50), steps=10, seconds=2.0)
    row = meter.row("train", replicas=1, devices=3, peak=10_000.0)
    assert (row["steps_per_second"], row["tokens_per_second"], row["flops_per_second"]) == (5, 25, 3000)
    assert (row["peak_flops_per_second"], row["mfu"]) == (30_000, 0.1)
    assert meter.row("train", 1, 3, None)["mfu"] is None


def test_a_phase_counts_neither_what_is_aside_nor_the_phases_in_it(tmp_path, monkeypatch):
    clock = itertools.count()  # a second from each reading to the next
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    timings = Timings(Group(tmp_path, ((0, 1e-3),), 1, "0123abcd"), plan_of(CONFIG, target_here()), devices=1)
    with timings.phase("train") as outer:
        outer.add(Work(1, 1))
        with timings.aside():
            pass
        with timings.phase("validate") as inner:
            inner.add(Work(1, 1))
    assert (outer.seconds, inner.seconds) == (5 - 1 - 1, 1)


@pytest.mark.parametrize(("target", "replicas", "seconds"), [(target_here(), 2, 0.02), (named_target("h100"), 1, 0.4)])
def test_a_step_has_the_median_time_of_calls_of_the_processor_or_of_the_wall(
    tmp_path, monkeypatch, target, replicas, seconds
):
    """Ten steps a call, in a program of two replicas; another program is compiled beside most calls, and a validation
    follows one.
    """
    now = 0.0
    for clock, second in (("perf_counter", 4.0), ("process_time", 0.4)):
        monkeypatch.setattr(timing.time, clock, lambda second=second: now * second)
    group = Group(tmp_path, tuple((seed, 1e-3) for seed in range(replicas)), replicas, "0123abcd")
    with Timings(group, plan_of(CONFIG, target), devices=1).phase("train") as meter:
        for took, alone in ((1, True), (1, True), *[(6, False)] * 4, (6, True), (1, True), (9, True), (1, True)):
            now += took
            meter.add(Work(1, 1), steps=10, alone=alone)
    (row,) = rows(tmp_path / "timing.jsonl")
    assert row["step_seconds"] == seconds


def test_what_is_compiled_is_known_until_it_is_done():
    known, seen = programs.KnownPrograms(), []
    known.make(programs.Uncompiled("a", "a", lambda: seen.append({*known.under_way})))
    with pytest.raises(ZeroDivisionError):
        known.make(programs.Uncompiled("b", "b", lambda: 1 / 0))
    assert (seen, known.under_way) == ([{"a"}], set())


# Nothing waits in the loop that need not: metrics are read a call late, and the disk is waited for at checkpoints.


PLAIN = dataclasses.replace(
    CONFIG.training, steps=20, steps_per_call=5, log_every=5, checkpoint_every=0, validate_every=0
)
RUN = dataclasses.replace(CONFIG, training=PLAIN)


@pytest.fixture
def events(monkeypatch):
    """What happened, in order: "call" of the training program, "wait" for its metrics, "fsync" of metrics.jsonl."""
    found: list[str] = []
    call, host, fsync = Program.__call__, programs.host, os.fsync

    def called(self, *arguments):
        if self.name == "train":
            found.append("call")
        return call(self, *arguments)

    def waited(tree):
        if "largest_token" in tree:  # of a call of the training program
            found.append("wait")
        return host(tree)

    def synced(handle):
        if os.readlink(f"/proc/self/fd/{handle}").endswith("metrics.jsonl"):
            found.append("fsync")
        fsync(handle)

    monkeypatch.setattr(Program, "__call__", called)
    monkeypatch.setattr(programs, "host", waited)
    monkeypatch.setattr(os, "fsync", synced)
    return found


def test_devices_have_the_next_call_before_the_metrics_of_one_are_waited_for(events, tmp_path):
    run(RUN, tmp_path / "run", reporter=Reporter())
    assert events == ["call", "call", "wait", "call", "wait", "call", "wait", "wait", "fsync"]


def test_at_a_checkpoint_all_is_read_and_on_disk_and_nothing_else_is_waited_for(events, tmp_path):
    training = dataclasses.replace(PLAIN, checkpoint_every=10)
    run(dataclasses.replace(RUN, training=training), tmp_path / "run", reporter=Reporter())
    assert [event for event in events if event != "fsync"] == ["call", "call", "wait", "wait"] * 2
    assert events.count("fsync") == 2
    # The first of them comes while the next calls run, the second before the run ends.
    assert events.index("fsync") >= 4


# Trackers: what they are told is what the run's files say, and the files are those of a run without them.


SMALL = dataclasses.replace(
    CONFIG,
    training=dataclasses.replace(CONFIG.training, steps=10, checkpoint_every=0, validate_every=5),
    evaluation=dataclasses.replace(CONFIG.evaluation, lengths=(2, 5)),
    label="a label",
)
SERIES = ["cmc a label/seed 0, rate 0.01", "cmc a label/seed 1, rate 0.01"]
# On clocks, paths and hosts these depend, so on nothing else does.
_OWN = ("timing.jsonl", "holder", "lock", "environment.json")


def tracked_run(place, *names):
    heard = Notes()
    with Tracked(heard, place, names) as reporter:
        results = run(SMALL, place, reporter=reporter)
    return results, heard.notes


def of_metrics(place):
    """series -> step -> values, from the run's own file."""
    found = {}
    for line in read_lines((place / "group-000/metrics.jsonl").read_bytes()):
        row = dict(line.row)
        series, step = SERIES[row.pop("seed")], row.pop("step")
        row.pop("learning_rate")
        found.setdefault(series, {}).setdefault(step, {}).update(row)
    return found


def events_of(file) -> list:
    """The events_of of a file: records of length, checksum, data, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    data, found = file.read_bytes(), []
    while data:
        (size,) = struct.unpack("<Q", data[:8])
        found.append(Event.FromString(data[12 : 12 + size]))
        data = data[16 + size :]
    return found


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    place = tmp_path_factory.mktemp("tracked") / "run"
    return place, *tracked_run(place, "tensorboard")


def test_event_files_of_tensorboard_hold_the_metrics_and_the_scores(told):
    place, (result,), _ = told
    folders = sorted((place / "tracking/tensorboard").iterdir())
    assert [folder.name.rpartition("-")[0] for folder in folders] == [f"cmc-a-label-seed-{i}-rate-0.01" for i in (0, 1)]
    for seed, folder in enumerate(folders):
        (file,) = folder.iterdir()
        found = {"training": {}, "by_length": {}}
        for event in events_of(file):
            for value in event.summary.value:
                kind, _, name = value.tag.partition("/")
                found[kind].setdefault(event.step, {})[name] = value.simple_value
        wanted = of_metrics(place)[SERIES[seed]]
        assert {step: pytest.approx(values) for step, values in wanted.items()} == found["training"]
        scores = {row["length"]: row["accuracy"] for row in result["replicas"][seed]["evaluation"]}
        assert {n: values["accuracy"] for n, values in found["by_length"].items()} == pytest.approx(scores)


def test_the_files_of_the_run_are_those_without_a_tracker(told, tmp_path):
    run(SMALL, tmp_path / "plain", reporter=Reporter())

    def kept(place):
        found = {path: data for path, (_, data) in contents(place).items() if not path.endswith(_OWN)}
        return {path: data for path, data in found.items() if "tracking/" not in path and "checkpoints/" not in path}

    assert kept(told[0]) == kept(tmp_path / "plain")
    assert "group-000/metrics.jsonl" in kept(told[0])


def test_a_tracker_that_fails_is_left_and_the_run_goes_on(tmp_path):
    place = tmp_path / "run"
    (place / "tracking").mkdir(parents=True)
    (place / "tracking" / "tensorboard").write_text("a file stands here")
    results, notes = tracked_run(place, "tensorboard")
    (note,) = (note for note in notes if "--track" in note)
    assert note.startswith("--track tensorboard failed and hears no more, the run goes on: FileExistsError")
    assert results[0]["replicas"][0]["evaluation"]


def test_a_missing_package_is_one_line_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name, package in (("tensorboard", "tensorboardX"), ("wandb", "wandb")):
        with pytest.raises(MissingExtraError) as error:
            Tracked(Reporter(), tmp_path / "run", (name,))
        assert str(error.value) == (
            f"--track {name} needs {package}, which is not installed: {install_command('tracking')}"
        )
    assert list(tmp_path.iterdir()) == []


def test_each_part_of_a_directory_is_a_run_of_its_own_for_weights_and_biases(tmp_path, monkeypatch):
    begun = []

    def init(**settings):
        begun.append(settings)
        return types.SimpleNamespace(define_metric=lambda *_, **__: None, log=lambda *_: None, finish=lambda: None)

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=init))
    monkeypatch.setattr("posenc_jax.extras.check", lambda *_: None)
    row = {"seed": 0, "learning_rate": 0.1, "step": 1, "loss": 2.0}
    for part in (None, "cell/group-000", "cell/group-001", "cell/group-000"):
        with Tracked(Reporter(), tmp_path / "run", ("wandb",), part) as tracked:
            tracked.rows("cell", [row])
    first, second, third, again = (settings["id"] for settings in begun)
    assert len({first, second, third}) == 3
    assert again == second
    assert [settings["name"] for settings in begun[:2]] == ["run", "run cell/group-000"]


@pytest.mark.slow
def test_weights_and_biases_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    place = tmp_path / "run"
    _, notes = tracked_run(place, "wandb")
    assert [note for note in notes if "--track" in note] == []
    (record,) = (place / "tracking/wandb").rglob("run-*.wandb")
    names = (
        "by_step/cmc a label/seed 0, rate 0.01/validation_loss",
        "by_length/cmc a label/seed 1, rate 0.01/accuracy",
    )
    until = time.monotonic() + 60  # its own process writes the end a moment after `finish` has returned
    while not all(name.encode() in record.read_bytes() for name in names):
        assert time.monotonic() < until
        time.sleep(0.1)
