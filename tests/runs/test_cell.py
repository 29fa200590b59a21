"""A run's directory: what is written, what is never rewritten, what is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil

import jax
import numpy as np
import pytest
import sealed_files
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax.config import Ablation, config_hash, to_json
from posenc_jax.encodings import Learned, RoPE
from posenc_jax.runs import cell as cell_module
from posenc_jax.runs import programs as programs_module
from posenc_jax.runs.cell import run
from posenc_jax.runs.checkpoint import digest
from posenc_jax.runs.directory import complete, load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import locked
from posenc_jax.runs.programs import refuse_foreign_tokens
from posenc_jax.runs.state import load_group_state

WITH_FAST_RATE = dataclasses.replace(CONFIG, seeds=(0, 1, 2), learning_rates=(1e-2, 1e38))


@pytest.fixture
def finished(tmp_path):
    return copy_of_the_run(tmp_path / "run")


def rows(group):
    return sealed_files.read_rows(group / "metrics.jsonl")


def test_a_finished_run_has_these_files_and_no_clock_or_path_in_its_results(finished):
    (group,) = finished.glob("group-*")
    assert {p.name for p in finished.iterdir()} == {"config.json", "lock", "group-000"}
    names = {"config.json", "environment.json", "timing.jsonl", "metrics.jsonl", "checkpoints", "result.json", "lock"}
    assert {p.name for p in group.iterdir()} == names
    assert load_config(finished) == load_config(group) == CONFIG
    assert {p.name for p in (group / "checkpoints").iterdir()} == {"10", "20"}
    for name in ("metrics.jsonl", "result.json"):
        text = (group / name).read_text()
        assert str(finished) not in text
        assert "/" not in text
        assert "time" not in text


def test_metrics_have_each_step_once_and_in_order(finished):
    found = rows(finished / "group-000")
    keys = [(row["step"], row["seed"], row["learning_rate"], "validation_loss" in row) for row in found]
    wanted = [(step, seed, 1e-2, False) for step in (5, 10, 15, 20) for seed in (0, 1)]
    wanted += [(10, seed, 1e-2, True) for seed in (0, 1)]
    assert sorted(keys) == sorted(wanted)
    assert [key[0] for key in keys] == sorted(key[0] for key in keys)
    assert found[0].keys() == {"step", "seed", "learning_rate", "loss", "accuracy", "exact_match", "gradient_norm"}
    assert all(np.isfinite(value) for row in found for value in row.values())


def test_a_result_says_what_was_measured_and_on_what(finished):
    result = json.loads((finished / "group-000" / "result.json").read_text())
    group, state = load_group_state(CONFIG, finished / "group-000")
    assert group.replicas == ((0, 1e-2), (1, 1e-2))
    for index, replica in enumerate(result["replicas"]):
        assert (replica["seed"], replica["learning_rate"], replica["diverged_at"]) == (index, 1e-2, None)
        assert [row["length"] for row in replica["evaluation"]] == [2, 3, 5]
        assert all(row["count"] == 8 for row in replica["evaluation"])
        params = jax.tree.map(lambda leaf: leaf[index], state["params"])  # noqa: B023
        assert replica["parameters_sha256"] == digest(params)
    assert result["config_hash"] == config_hash(CONFIG)
    assert result["posenc"] == "rope|learned"
    assert result["num_posenc_parameters"] == CONFIG.max_len * 16
    sizes = [np.prod(leaf.shape[1:], dtype=int) for leaf in jax.tree.leaves(state["params"])]
    assert result["num_parameters"] == sum(sizes)
    assert (result["mode"], result["group_size"], result["bit_exact"]) == ("map", 2, True)


def test_a_finished_run_is_left_alone_and_says_so(finished):
    before = contents(finished)
    reporter = Notes()
    results = run(CONFIG, finished, reporter=reporter)
    assert reporter.notes == [f"{finished} is already complete: nothing to do"]
    assert contents(finished) == before
    assert [r["seed"] for result in results for r in result["replicas"]] == [0, 1]


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """The finished run with a seed and a rate more, of which the rate diverges; and the programs that this took."""
    directory = copy_of_the_run(tmp_path_factory.mktemp("cell") / "run")
    before = contents(directory)
    made = []

    class Counted(programs_module.Program):
        def __init__(self, name, *arguments, **keywords):
            made.append(name)
            super().__init__(name, *arguments, **keywords)

    patch = pytest.MonkeyPatch()
    patch.setattr(programs_module, "Program", Counted)
    results = run(WITH_FAST_RATE, directory)
    patch.undo()
    return directory, before, results, made


def test_more_seeds_and_rates_run_only_what_is_new(extended):
    directory, before, results, _ = extended
    after = contents(directory)
    assert {name: after[name] for name in before if name != "config.json"} == {
        name: content for name, content in before.items() if name != "config.json"
    }
    replicas = [[(r["seed"], r["learning_rate"]) for r in result["replicas"]] for result in results]
    assert replicas == [[(0, 1e-2), (1, 1e-2)], [(2, 1e-2), (0, 1e38)], [(1, 1e38), (2, 1e38)]]
    assert complete(directory, WITH_FAST_RATE)
    assert not complete(directory, dataclasses.replace(CONFIG, seeds=(0, 3)))


def test_compiles_count_programs_never_groups_seeds_or_lengths(extended):
    _, _, results, made = extended
    assert len(results) == 3
    assert made == ["train", "validate", "evaluate@3", "evaluate@6"]


def test_a_diverged_replica_says_so_and_spoils_nothing(extended):
    """Seed 2 in a group with a diverging neighbour; a group in which all diverge ends early."""
    directory, _, results, _ = extended
    mixed, lost = results[1:]
    assert mixed["replicas"][0]["diverged_at"] is None
    for replica in (mixed["replicas"][1], *lost["replicas"]):
        assert 0 <= replica["diverged_at"] < 10
        assert replica["validation"]["count"] == 8
    seen = [(row["step"], row["seed"]) for row in rows(directory / "group-001") if "loss" in row]
    assert [step for step, seed in seen if seed == 2] == [5, 10, 15, 20]
    last = mixed["replicas"][1]["diverged_at"] // 5 * 5 + 5
    assert [step for step, seed in seen if seed == 0] == list(range(5, last + 1, 5))
    steps = [int(p.name) for p in (directory / "group-002" / "checkpoints").iterdir()]
    assert max(steps) <= 10
    # The call after the one in which all diverged was under way when that was read.
    assert max(row["step"] for row in rows(directory / "group-002")) == max(steps) - 5


def test_another_config_is_refused_field_by_field(finished):
    before = contents(finished)
    other = dataclasses.replace(
        CONFIG, training=dataclasses.replace(CONFIG.training, steps=40), posenc=(RoPE(base=5e5), Learned())
    )
    with pytest.raises(RefusedError) as error:
        run(other, finished)
    assert str(error.value) == (
        f"{finished} holds a run with other settings; choose another directory, or go back to them. Differences:\n"
        "  posenc[0].base: 10000.0 -> 500000.0\n"
        "  training.steps: 20 -> 40"
    )
    assert contents(finished) == before


def test_a_directory_in_which_nothing_is_computed_may_be_removed(finished):
    for group in finished.glob("group-*"):
        shutil.rmtree(group)
    with pytest.raises(RefusedError, match=r"other settings \(nothing is computed in it yet: it can be removed\);"):
        run(dataclasses.replace(CONFIG, training=dataclasses.replace(CONFIG.training, steps=40)), finished)


def test_a_directory_of_something_else_is_refused(finished):
    sealed_files.write_config(finished, to_json(Ablation("a", (CONFIG,))))
    with pytest.raises(RefusedError, match=r"holds an ablation, not a single run: choose another directory"):
        run(CONFIG, finished)
    (finished / "config.json").write_text('{"type": ')
    with pytest.raises(RefusedError, match=r"config.json is damaged .*move .* away"):
        run(CONFIG, finished)
    (finished / "config.json").unlink()
    with pytest.raises(RefusedError, match=r"group-000 belongs to another config(.|\n)*steps: 20 -> 40"):
        run(dataclasses.replace(CONFIG, training=dataclasses.replace(CONFIG.training, steps=40)), finished)


def test_a_directory_in_use_is_refused_and_free_again_afterwards(finished):
    with locked(finished), pytest.raises(RefusedError, match=r"in use by process \d+: wait for it, or choose another"):
        run(CONFIG, finished)
    assert run(CONFIG, finished)


def test_a_damaged_checkpoint_costs_time_and_not_a_bit(finished):
    """The newest of two steps is damaged and the result missing: the run goes on from the step before."""
    group = finished / "group-000"
    before = contents(finished)
    (group / "result.json").unlink()
    for path in (group / "checkpoints" / "20").rglob("*"):
        if path.is_file() and path.stat().st_size > 2000:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 4
            path.write_bytes(content)
    with (group / "metrics.jsonl").open("a") as file:
        file.write('{"step": 25, "se')  # and a line was torn
    reporter = Notes()
    run(CONFIG, finished, reporter=reporter)
    (note,) = [text for text in reporter.notes if "damaged" in text]
    assert "checkpoints/20 is damaged" in note
    assert "kept as 20.bad, trying the one before" in note
    for name in ("group-000/result.json", "group-000/metrics.jsonl", "group-000/environment.json"):
        assert (finished / name).read_bytes() == before[name][1], name


def test_a_resume_elsewhere_is_marked(finished, monkeypatch):
    """Other versions, devices or threads give other bits: the result says that they were mixed."""
    group = finished / "group-000"
    (group / "result.json").unlink()
    real = cell_module.environment()
    elsewhere = {**real, "threads": 99, "version": "99.0", "source": "f" * 64, "matmul_precision": "bfloat16"}
    monkeypatch.setattr(cell_module, "environment", lambda: elsewhere)
    reporter = Notes()
    run(CONFIG, finished, reporter=reporter)
    assert json.loads((group / "result.json").read_text())["bit_exact"] is False
    (note,) = reporter.notes
    assert (
        f"group-000 began elsewhere, its result will be marked bit_exact=false: version: {real['version']} ->" in note
    )
    for name in ("source", "threads", "matmul_precision"):
        assert f"; {name}: " in note
    (resumed,) = json.loads((group / "environment.json").read_text())["resumed"]
    assert resumed == elsewhere | {"mode": "map", "model_precision": "highest", "own": {}}


def test_tokens_that_a_task_did_not_declare_are_refused():
    task, limit = CONFIG.task, CONFIG.task.vocab_size
    refuse_foreign_tokens(task, {"largest_token": np.array([limit - 1]), "largest_target": np.array([limit - 1])})
    with pytest.raises(ValueError, match=f"made largest token {limit}, beyond the {limit} that it declares"):
        refuse_foreign_tokens(task, {"largest_token": np.array([0, limit]), "largest_target": np.array([0, 0])})
    with pytest.raises(ValueError, match="raise its num_classes"):
        refuse_foreign_tokens(task, {"largest_token": np.array([0]), "largest_target": np.array([limit])})
