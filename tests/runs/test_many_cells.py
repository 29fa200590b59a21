"""An ablation that is finished: what the same command reads and writes, which must not grow faster than its cells."""

from __future__ import annotations

import collections
import dataclasses
import os

import pytest
import sealed_files
import tyro
from trained_runs import CONFIG, contents, copy_of_the_run

from posenc_jax import Ablation, ablate, evaluate, run
from posenc_jax.cli.overrides import override_all
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.reporter import Reporter

RUNS = tuple(dataclasses.replace(CONFIG, label=label) for label in ("first", "second", "third", "fourth"))


def finished(directory, runs):
    """An ablation of these runs, all with the files of one."""
    config = Ablation("a", runs, baseline="first")
    for cell in runs:
        place = copy_of_the_run(directory / cell.directory_name)
        for path in (place / "config.json", place / "group-000" / "config.json"):
            sealed_files.rewrite(path, lambda data: data["config"].update(label=cell.label))  # noqa: B023
        sealed_files.rewrite(place / "group-000" / "result.json", lambda data: data.update(label=cell.label))  # noqa: B023
    ablate(config, directory, reporter=Reporter())
    return config


def reads(begin, directory, monkeypatch):
    """How often each file with a checksum is read, below its directory."""
    counted = collections.Counter()

    def read(path, limit=None):
        counted[str(path.relative_to(directory))] += 1
        return path.read_bytes()

    with monkeypatch.context() as patched:
        patched.setattr("posenc_jax.runs.files.read_regular", read)
        begin()
    return counted


def test_each_file_is_read_once_whatever_the_number_of_cells(tmp_path, monkeypatch):
    config = finished(tmp_path, RUNS)
    counted = reads(lambda: ablate(config, tmp_path, reporter=Reporter()), tmp_path, monkeypatch)
    told = {path: times for path, times in counted.items() if path.endswith(("config.json", "result.json"))}
    homes = [f"{cell.directory_name}/{file}" for cell in RUNS for file in ("config.json", "group-000/config.json")]
    results = [f"{cell.directory_name}/group-000/result.json" for cell in RUNS]
    assert told == dict.fromkeys(["config.json", *homes, *results], 1)
    assert max(counted.values()) <= 2


def test_a_run_reads_each_file_once(tmp_path, monkeypatch):
    """One that is complete, with its groups; and one that is asked for another seed, what was there before."""
    place = copy_of_the_run(tmp_path / "run")
    (place / "lock").touch()  # as after any run
    again = reads(lambda: run(CONFIG, place, reporter=Reporter()), place, monkeypatch)
    files = ("config.json", "group-000/config.json", "group-000/result.json", "group-000/metrics.jsonl")
    once = dict.fromkeys(files, 1)
    assert again == once
    measured = reads(lambda: evaluate(place, (2,)), place, monkeypatch)
    assert {name: measured[name] for name in files[:3]} == dict.fromkeys(files[:3], 1)
    more = dataclasses.replace(CONFIG, seeds=(*CONFIG.seeds, 7))
    monkeypatch.setattr("posenc_jax.runs.cell.Engine.run_group", lambda engine, group: None)
    monkeypatch.setattr("posenc_jax.runs.cell.result_of", lambda group: {"replicas": []})
    assert once.items() <= reads(lambda: run(more, place, reporter=Reporter()), place, monkeypatch).items()


@pytest.mark.parametrize("work", [run, ablate])
def test_a_directory_of_somebody_else_is_left_as_it_is(tmp_path, work):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    (tmp_path / "mine.unfinished").touch()
    with pytest.raises(RefusedError, match=r"config\.json is damaged"):
        work(CONFIG if work is run else Ablation("a", RUNS), tmp_path, reporter=Reporter())
    assert sorted(os.listdir(tmp_path)) == ["config.json", "mine.unfinished"]


def test_a_second_time_nothing_is_written(tmp_path):
    config = finished(tmp_path / "a", RUNS[:2])
    before = contents(tmp_path / "a")
    ablate(config, tmp_path / "a", reporter=Reporter())
    assert contents(tmp_path / "a") == before


def test_options_are_parsed_once_for_all_cells_of_one_kind(monkeypatch):
    parsed, parse = [], tyro.cli
    monkeypatch.setattr("tyro.cli", lambda *args, **options: parsed.append(0) or parse(*args, **options))
    config = override_all(Ablation("a", RUNS), ["--training.steps", "40"], "ablate", "x.py")
    assert len(parsed) == 1
    expected = [dataclasses.replace(run, training=dataclasses.replace(run.training, steps=40)) for run in RUNS]
    assert list(config.runs) == expected
