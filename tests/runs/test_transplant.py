"""Starting from a finished run: whose parameters are taken, what is new, what cannot be."""

from __future__ import annotations

import dataclasses
import json
import shutil

import jax
import numpy as np
import pytest
import sealed_files
from trained_runs import CONFIG, Notes, copy_of_the_run

from posenc_jax.config import Ablation
from posenc_jax.encodings import Learned, RoPE, parse
from posenc_jax.runs import cell as cell_module
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.cell import run
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.spread import ablate_in_tasks
from posenc_jax.runs.state import load_group_state, replica_params
from posenc_jax.runs.transplant import partners, transplant
from posenc_jax.runs.weights import export_weights
from posenc_jax.training.layout import Devices
from posenc_jax.training.step import init_params


def trained(source, seed):
    _, state = load_group_state(CONFIG, source / "group-000")
    return jax.tree.map(lambda leaf: leaf[seed], state["params"])


def without_posenc(params):
    return {name: value for name, value in params.items() if name != "posenc"}


def equal(a, b):
    assert jax.tree.structure(a) == jax.tree.structure(b)
    return all(
        (np.asarray(x) == np.asarray(y)).all() for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    )


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """The config of a run that starts from another, its directory, the states that it began with and its notes."""
    folder, states, reporter = tmp_path_factory.mktemp("started"), [], Notes()
    config = dataclasses.replace(CONFIG, init_from=str(copy_of_the_run(folder / "source")))
    patch = pytest.MonkeyPatch()
    original = cell_module.put_state
    patch.setattr(cell_module, "put_state", lambda state, mesh: states.append(state) or original(state, mesh))
    run(config, folder / "run", reporter=reporter)
    patch.undo()
    return config, folder / "run", states, reporter.notes


def test_a_run_starts_from_the_parameters_of_its_seed(started, source):
    """Both seeds, with the same encodings: all parameters are taken, moments and steps start anew."""
    _, directory, states, notes = started
    for seed in (0, 1):
        assert equal(jax.tree.map(lambda leaf: leaf[seed], states[0]["params"]), trained(source, seed))  # noqa: B023
    assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(states[0]["opt"]))
    assert not states[0]["step"].any()
    assert notes == []
    # It goes on from there: better than where it began, and not the run that it began from.
    result = json.loads((directory / "group-000" / "result.json").read_text())
    before = json.loads((source / "group-000" / "result.json").read_text())
    for new, old in zip(result["replicas"], before["replicas"], strict=True):
        assert new["validation"]["loss"] < old["validation"]["loss"]


@pytest.mark.parametrize(
    ("posenc", "table", "fresh"),
    [
        ("nope", None, None),
        ("rope(base=50)|learned(init_scale=0.5)|t5", 1, "posenc/decoder/2/table"),
        pytest.param("t5|learned|rope", 1, "posenc/decoder/0/table", marks=pytest.mark.slow),
        ("rope|learned(40)", None, "posenc/decoder/1/table"),
    ],
)
def test_encodings_may_be_added_dropped_and_changed(source, posenc, table, fresh):
    """An encoding keeps its parameters, wherever it stands in its slot, and says when it starts anew."""
    config = dataclasses.replace(CONFIG, posenc=parse(posenc))
    start, notes = init_params(config, 1), []
    params = transplant(config, source, 1, notes.append)
    assert equal(without_posenc(params), without_posenc(trained(source, 1)))
    assert not equal(without_posenc(params), without_posenc(start))
    for index, (got, before) in enumerate(zip(params["posenc"]["decoder"], start["posenc"]["decoder"], strict=True)):
        assert equal(got, trained(source, 1)["posenc"]["decoder"][1] if index == table else before), index
    expected = [] if fresh is None else [f"init_from {source}: not there, so freshly initialised: {fresh}"]
    assert notes == expected


def test_partners_are_equal_encodings_or_the_next_of_the_class():
    a, b, c = Learned(10), Learned(20), Learned(30)
    assert partners((a, RoPE()), (RoPE(), a)) == (1, 0)
    assert partners((a, b), (b,)) == (1,)
    assert partners((a, b), (c, a)) == (1, 0)
    assert partners((a,), (b, c)) == (0, None)
    assert partners(((RoPE(),), (), (RoPE(), a)), (a, RoPE(base=5.0))) == (1, 0)
    assert partners((), (a,)) == (None,)


def test_a_diverged_seed_and_an_unfinished_run_are_refused(source):
    path = source / "group-000" / "result.json"
    sealed_files.rewrite(path, lambda result: result["replicas"][1].update(diverged_at=7))
    assert equal(replica_params(source, 0, print), trained(source, 0))
    with pytest.raises(
        RefusedError, match=r"no finished replica of seed 1 that did not diverge; it was run with seeds"
    ):
        replica_params(source, 1, print)
    path.unlink()
    with pytest.raises(RefusedError, match="is not finished: run it to the end first"):
        replica_params(source, 0, print)
    with pytest.raises(RefusedError, match=r"there is no .*nowhere: name the directory of a finished run or a file"):
        run(dataclasses.replace(CONFIG, init_from=str(source / "nowhere")), source / "run")


def test_of_several_rates_the_best_by_validation_is_taken(source):
    path = source / "group-000" / "result.json"
    result = sealed_files.read(path)
    for replica, score in zip(result["replicas"], (0.25, 0.75), strict=True):
        replica |= {"seed": 0, "validation": {**replica["validation"], "exact_match": score}}
    twice = [[0, 0.01], [0, 0.01]]
    sealed_files.rewrite(source / "group-000" / "config.json", lambda group: group.update(replicas=twice))
    sealed_files.write(path, result)
    assert equal(replica_params(source, 0, print), trained(source, 1))


def test_parameters_have_the_dtypes_of_the_new_model(source):
    """Whatever the source was kept in: else the run could not be read again."""
    model = dataclasses.replace(CONFIG.model, dtype="bfloat16", param_dtype="bfloat16")
    half = dataclasses.replace(CONFIG, model=model)
    fresh = init_params(half, 0)
    taken = transplant(half, source, 0, print)
    assert jax.tree.map(lambda leaf: leaf.dtype, taken) == jax.tree.map(lambda leaf: leaf.dtype, fresh)
    kept = without_posenc(transplant(CONFIG, source, 0, print))
    rounded = jax.tree.map(lambda leaf, new: np.asarray(leaf).astype(new.dtype), kept, without_posenc(fresh))
    assert equal(without_posenc(taken), rounded)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": dataclasses.replace(CONFIG.model, d_model=2 * CONFIG.model.d_model)}, "use the same model and task"),
        ({"model": dataclasses.replace(CONFIG.model, num_layers=CONFIG.model.num_layers + 1)}, "is absent there"),
        ({"task": dataclasses.replace(CONFIG.task, num_symbols=CONFIG.task.num_symbols + 1)}, "use the same model and"),
        ({"seeds": (0, 5)}, "has no finished replica of seed 5 that did not diverge"),
        ({}, "has no checkpoint: restore it from where the run was made"),
    ],
    ids=["width", "layers", "symbols", "seed", "no checkpoint"],
)
@pytest.mark.parametrize("kind", ["run", "file"])
def test_a_start_that_cannot_serve_is_refused_before_anything_is_written(
    source, tmp_path, monkeypatch, changed, message, kind
):
    start = source
    if kind == "file" and "seeds" in changed:
        return  # a file serves every seed
    if kind == "file":
        start = tmp_path / "start.safetensors"
        export_weights(source, start)
        message = message if changed else "is no whole safetensors file"
    if not changed and kind == "file":
        start.write_bytes(start.read_bytes()[:-1])
    elif not changed:
        shutil.rmtree(source / "group-000" / "checkpoints")
    monkeypatch.setattr(cell_module, "Engine", None)  # which compiles
    with pytest.raises(RefusedError, match=message):
        run(dataclasses.replace(CONFIG, **changed, init_from=str(start)), tmp_path / "new", reporter=Notes())
    assert not (tmp_path / "new").exists()


# Cells of an ablation that start from earlier ones: in order, by the hash of what they start from, never stale.


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


def test_another_start_is_another_cell():
    longer = dataclasses.replace(FIRST, training=dataclasses.replace(FIRST.training, steps=40))
    assert longer.as_start != FIRST.as_start
    assert dataclasses.replace(LATER, init_from=longer.as_start).directory_name != LATER.directory_name
    with pytest.raises(ValueError, match=r"'later' is no cell before it: list the cell that it starts from first"):
        dataclasses.replace(BOTH, runs=(longer, LATER))


def test_what_cannot_be_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'later' is no cell before it"):
        Ablation(name="both", runs=(LATER, FIRST))
    with pytest.raises(ValueError, match=r"'later' starts from 'first', which has no seed 7: give both the same seeds"):
        Ablation(name="both", runs=(FIRST, dataclasses.replace(LATER, seeds=(0, 7))))
    with pytest.raises(RefusedError, match=r"init_from = 'cell:t-first-.*, or run the ablation that has both cells"):
        run(LATER, tmp_path / "alone")
    assert not (tmp_path / "alone").exists()
    with pytest.raises(RefusedError, match=r"t later starts from first, which is not finished, and tasks run all"):
        ablate_in_tasks(BOTH, tmp_path / "tasks", lambda *_: {}, Devices(2, "cpu"))
    assert not (tmp_path / "tasks").exists()
