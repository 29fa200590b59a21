"""Trackers: what they are told is what the run's files say, and the files are those of a run without them."""

from __future__ import annotations

import dataclasses
import importlib.util
import struct
import sys
import time
import types

import pytest
from trained_runs import CONFIG, Notes, contents

from posenc_jax.extras import MissingExtraError
from posenc_jax.files.checksums import read_lines
from posenc_jax.runs.cell import run
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.trackers import Tracked

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


def events(file) -> list:
    """The events of a file: records of length, checksum, data, checksum."""
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
        for event in events(file):
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
            f"--track {name} needs {package}, which is not installed: pip install 'posenc-jax[tracking]'"
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
