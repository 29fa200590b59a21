"""An ablation that is finished: what the same command reads and writes, which must not grow faster than its cells."""

from __future__ import annotations

import collections
import dataclasses

import sealed_files
import tyro
from trained_runs import CONFIG, contents, copy_of_the_run

from posenc_jax import Ablation, ablate
from posenc_jax.cli.ablate import override_all
from posenc_jax.runs.reporter import Reporter

RUNS = tuple(dataclasses.replace(CONFIG, label=label) for label in ("first", "second", "third", "fourth"))


def finished(directory, runs):
    """An ablation of these runs, all with the files of one."""
    config = Ablation("a", runs, baseline="first")
    for run in runs:
        place = copy_of_the_run(directory / run.directory_name)
        for path in (place / "config.json", place / "group-000" / "config.json"):
            sealed_files.rewrite(path, lambda data: data["config"].update(label=run.label))  # noqa: B023
        sealed_files.rewrite(place / "group-000" / "result.json", lambda data: data.update(label=run.label))  # noqa: B023
    ablate(config, directory, reporter=Reporter())
    return config


def reads(config, directory, monkeypatch):
    """How often `ablate` reads each file that has a checksum, below its directory."""
    counted = collections.Counter()

    def read(path, limit=None):
        counted[str(path.relative_to(directory))] += 1
        return path.read_bytes()

    with monkeypatch.context() as patched:
        patched.setattr("posenc_jax.runs.files.read_regular", read)
        ablate(config, directory, reporter=Reporter())
    return counted


def test_a_file_is_read_as_often_whatever_the_number_of_cells(tmp_path, monkeypatch):
    two, four = (tmp_path / name for name in ("two", "four"))
    few = reads(finished(two, RUNS[:2]), two, monkeypatch)
    many = reads(finished(four, RUNS), four, monkeypatch)
    assert few.items() <= many.items()
    assert sum(path.endswith("result.json") for path in many) == 4
    for path, times in many.items():
        assert times <= (1 if path.endswith("result.json") else 4), path


def test_a_second_time_nothing_is_written(tmp_path):
    config = finished(tmp_path / "a", RUNS[:2])
    before = contents(tmp_path / "a")
    ablate(config, tmp_path / "a", reporter=Reporter())
    assert contents(tmp_path / "a") == before


def test_options_are_parsed_once_for_all_cells_of_one_kind(monkeypatch):
    parsed, parse = [], tyro.cli
    monkeypatch.setattr("tyro.cli", lambda *args, **options: parsed.append(0) or parse(*args, **options))
    for words, field in (([], {}), (["--training.steps", "40"], {"training": CONFIG.training.__class__})):
        parsed.clear()
        config, _ = override_all(Ablation("a", RUNS), ["--directory", "x", *words], "posenc ablate x.py")
        assert len(parsed) == 1
        steps = 40 if field else 20
        expected = [dataclasses.replace(run, training=dataclasses.replace(run.training, steps=steps)) for run in RUNS]
        assert list(config.runs) == expected
