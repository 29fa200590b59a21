"""Links in a directory that lead out of it, and a directory of somebody else: nothing is written there."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest
from trained_runs import CONFIG, copy_of_the_run

from posenc_jax.config import Ablation
from posenc_jax.files.atomic import LinkError
from posenc_jax.runs import own_code
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.cell import run
from posenc_jax.runs.errors import FailedCellsError, RefusedError
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.files import write_json
from posenc_jax.runs.reporter import Reporter


@pytest.mark.parametrize("work", [run, ablate])
def test_a_directory_of_somebody_else_is_left_as_it_is(tmp_path, work):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    (tmp_path / "mine.unfinished").touch()
    with pytest.raises(RefusedError, match=r"config\.json is damaged"):
        work(CONFIG if work is run else Ablation("a", (CONFIG,)), tmp_path, reporter=Reporter())
    assert sorted(os.listdir(tmp_path)) == ["config.json", "mine.unfinished"]


@pytest.fixture
def outside(tmp_path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_text("precious")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


MORE = dataclasses.replace(CONFIG, seeds=(0, 1, 2))


@pytest.mark.parametrize(
    "name",
    ["group-001/checkpoints", "group-001", "lock"],
)
def test_a_run_is_not_trained_into_another_place(tmp_path, outside, name):
    directory = copy_of_the_run(tmp_path / "run")
    link = directory / name
    link.unlink(missing_ok=True)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside if name.startswith("group-001") and "." not in name else outside / "file")
    if name != "lock":  # a group of the third seed, of which nothing is trained
        group = json.loads((directory / "group-000" / "config.json").read_text()) | {"replicas": [[2, 1e-2]]}
        group.pop("checksum")
        write_json(directory / "group-001" / "config.json", group)
    before = files(outside)
    with pytest.raises((LinkError, RefusedError), match=r"is a link|not written through links"):
        run(MORE, directory, reporter=Reporter())
    assert files(outside) == before


def test_an_ablation_does_not_run_a_cell_in_another_place(tmp_path, outside):
    config = Ablation("a", (dataclasses.replace(CONFIG, label="x", table="y"),))
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / config.runs[0].directory_name).symlink_to(outside)
    with pytest.raises(FailedCellsError, match=r"y x: LinkError: .*not written through links"):
        ablate(config, tmp_path / "runs", reporter=Reporter())
    assert files(outside) == {"file": b"precious"}


def test_measuring_again_writes_nowhere_else(tmp_path, outside):
    directory = copy_of_the_run(tmp_path / "run")
    (directory / "evaluations").symlink_to(outside)
    with pytest.raises(LinkError, match="evaluations"):
        evaluate(directory)
    assert files(outside) == {"file": b"precious"}


def test_copies_of_code_are_not_written_elsewhere(tmp_path, outside, monkeypatch):
    import trained_runs

    monkeypatch.setattr(own_code, "own_classes", lambda config: {"trained_runs.py:Notes": trained_runs.Notes})
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "code").symlink_to(outside)
    with pytest.raises(LinkError, match="run/code"):
        own_code.save(CONFIG, tmp_path / "run")
    assert files(outside) == {"file": b"precious"}
