"""Cells of an ablation that start from earlier ones: in order, by the hash of what they start from, never stale."""

from __future__ import annotations

import dataclasses
import json
import shutil

import jax
import numpy as np
import pytest
import sealed_files
from trained_runs import CONFIG, Notes

from posenc_jax.cli.overrides import override_all
from posenc_jax.config import Ablation
from posenc_jax.encodings import RoPE
from posenc_jax.runs import cell as cell_module
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import home_of, results
from posenc_jax.runs.errors import FailedCellsError, RefusedError
from posenc_jax.runs.files import read_json
from posenc_jax.runs.identity import keep_start
from posenc_jax.runs.spread import ablate_in_tasks
from posenc_jax.runs.state import replica_params
from posenc_jax.training.layout import Devices

FIRST = dataclasses.replace(CONFIG, posenc=(RoPE(),), label="first", table="t")
LATER = dataclasses.replace(FIRST, posenc=(), label="later", init_from=FIRST.as_start)
BOTH = Ablation(name="both", runs=(FIRST, LATER))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The directory of the ablation, and the states that its cells began with."""
    folder, states = tmp_path_factory.mktemp("both"), []
    patch, original = pytest.MonkeyPatch(), cell_module.put_state
    patch.setattr(cell_module, "put_state", lambda state, mesh: states.append(state) or original(state, mesh))
    ablate(BOTH, folder / "run", reporter=Notes())
    patch.undo()
    return folder / "run", [state for state in states if not np.any(state["step"])]


def test_a_cell_begins_with_the_parameters_of_the_other_s_seeds(finished):
    directory, (_, begun) = finished
    for number, seed in enumerate(FIRST.seeds):
        trained = replica_params(directory / FIRST.directory_name, seed, print)
        for name in trained.keys() - {"posenc"}:
            for a, b in zip(jax.tree.leaves(trained[name]), jax.tree.leaves(begun["params"][name]), strict=True):
                np.testing.assert_array_equal(a, b[number])


def test_an_ablation_that_was_moved_is_still_complete(finished, tmp_path):
    """Nothing in it is a path."""
    reporter = Notes()
    ablate(BOTH, shutil.copytree(finished[0], tmp_path / "elsewhere"), reporter=reporter)
    assert reporter.notes == [f"{tmp_path / 'elsewhere'} is already complete: nothing to do"]


def test_a_start_that_was_trained_anew_is_noticed(finished, tmp_path):
    """By the digests of its parameters; not where it is away, since then nothing can be said."""
    directory = shutil.copytree(finished[0], tmp_path / "run")
    source, later = (directory / cell.directory_name for cell in (FIRST, LATER))
    result = source / "group-000" / "result.json"
    kept = json.loads((later / "start.json").read_text())
    of_seeds = {str(own["seed"]): [own["parameters_sha256"]] for own in sealed_files.read(result)["replicas"]}
    assert {name: value for name, value in kept.items() if name != "checksum"} == of_seeds
    fewer = dataclasses.replace(LATER, seeds=(1,))
    assert [own["seed"] for own in run(fewer, later)[0]["replicas"]] == [0, 1], "fewer seeds are no other start"
    sealed_files.rewrite(result, lambda found: found["replicas"][1].update(parameters_sha256="0" * 64))
    for again in (lambda: ablate(BOTH, directory), lambda: run(LATER, later)):
        with pytest.raises(RefusedError, match=r"began with other parameters than .* has now \(seed 1: they were "):
            again()
    shutil.rmtree(source)
    reporter = Notes()
    run(LATER, later, reporter=reporter)
    assert reporter.notes == [f"{later} is already complete: nothing to do"]


def test_a_start_that_an_ablation_trains_anew_is_noticed_at_once(finished, tmp_path, monkeypatch):
    directory = shutil.copytree(finished[0], tmp_path / "run")
    later = directory / LATER.directory_name
    shutil.rmtree(directory / FIRST.directory_name)
    sealed_files.rewrite(later / "start.json", lambda kept: kept.update({"0": ["1" * 64]}))
    with pytest.raises(FailedCellsError, match=r"1 of 2 cells failed(.|\n)*t later: .* \(seed 0: they were 11111111\)"):
        ablate(BOTH, directory, reporter=Notes())


def test_what_is_kept_of_a_start_is_of_seeds_that_are_still_to_train(finished, tmp_path):
    """Of those that have results nobody knows any more what they began with."""
    directory = shutil.copytree(finished[0], tmp_path / "run")
    later = directory / LATER.directory_name
    (later / "start.json").unlink()
    keep_start(dataclasses.replace(LATER, seeds=(0, 1, 2)), later, results(later))
    assert read_json(later / "start.json") == {}


def test_only_groups_are_taken_for_groups(tmp_path):
    """No table or run that is called nearly so."""
    for name in ("group-s3-rope-1a2b", "group-study", "groups"):
        assert home_of(tmp_path / name) == tmp_path / name
    assert home_of(tmp_path / "group-000") == tmp_path


def test_another_start_is_another_cell():
    longer = dataclasses.replace(FIRST, training=dataclasses.replace(FIRST.training, steps=40))
    assert longer.as_start != FIRST.as_start
    assert dataclasses.replace(LATER, init_from=longer.as_start).directory_name != LATER.directory_name
    with pytest.raises(ValueError, match=r"'later' is no cell before it: list the cell that it starts from first"):
        dataclasses.replace(BOTH, runs=(longer, LATER))


def test_overrides_reach_the_start_too():
    changed = override_all(BOTH, ["--training.steps", "100"], "ablate", "x.py")
    assert changed.runs[1].init_from == changed.runs[0].as_start != FIRST.as_start


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'later' is no cell before it"):
        Ablation(name="both", runs=(LATER, FIRST))
    with pytest.raises(ValueError, match=r"'later' starts from 'first', which has no seed 7: give both the same seeds"):
        Ablation(name="both", runs=(FIRST, dataclasses.replace(LATER, seeds=(0, 7))))
    with pytest.raises(RefusedError, match=r"init_from = 'cell:t-first-.*: run the ablation that has both cells"):
        run(LATER, tmp_path / "alone")
    assert not (tmp_path / "alone").exists()
    with pytest.raises(RefusedError, match=r"t later starts from first, which is not finished, and tasks run all"):
        ablate_in_tasks(BOTH, tmp_path / "tasks", lambda *_: {}, Devices(2, "cpu"))
    assert not (tmp_path / "tasks").exists()
