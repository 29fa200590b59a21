"""A run's directory: what is written, what is never rewritten, what is refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys

import jax
import numpy as np
import pytest
import sealed_files
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax import Run, parse
from posenc_jax.config import Ablation, config_hash, is_own, to_json
from posenc_jax.config.reading import KNOWN
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import Learned, RoPE
from posenc_jax.encodings.interface.value import Value
from posenc_jax.models.config import Transformer
from posenc_jax.runs import cell as cell_module
from posenc_jax.runs import programs as programs_module
from posenc_jax.runs.cell import run
from posenc_jax.runs.checkpoint import digest
from posenc_jax.runs.directory import FORMAT, complete, load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import locked
from posenc_jax.runs.programs import refuse_foreign_tokens
from posenc_jax.runs.state import load_group_state
from posenc_jax.runs.weights import load_weights

WITH_FAST_RATE = dataclasses.replace(CONFIG, seeds=(0, 1, 2), learning_rates=(1e-2, 1e38))


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


# Configs on disk: names that outlive the modules, nothing imported or dropped, old directories read or refused.


def test_values_are_stored_under_registered_names(finished):
    data = json.loads((finished / "config.json").read_text())
    assert data["format"] == FORMAT
    assert data["code"] == {}
    assert data["config"]["type"] == "run"
    assert data["config"]["task"]["type"] == "copying"
    assert [element["type"] for element in data["config"]["posenc"]] == ["rope", "learned"]
    for path in finished.rglob("*.json"):
        assert "posenc_jax." not in path.read_text(), path


def test_every_value_class_of_the_package_is_registered_once():
    def subclasses(cls):
        for direct in cls.__subclasses__():
            yield direct
            yield from subclasses(direct)

    abstract = {"BinaryOperation", "CountsKeys", "WindowTask", "Dims", "Metric", "RangedTask", "RecallTask", "Reveal"}
    abstract |= {"Task", "StringTask", "PositionTask", "TextTask", "OfNumbers", "PositionalEncoding", "RoPEScaling"}
    abstract |= {"FrequencyDesign", "StructureMask", "Rotary", "WithRoPE", "TwoProducts", "PairTask"}
    classes = {
        cls
        for cls in subclasses(Value)
        if not is_own(cls) and cls.__name__ not in abstract and not cls.__name__.startswith("_")
        if getattr(sys.modules[cls.__module__], cls.__name__, None) is cls  # not of an example in a docstring
    }
    assert classes <= set(KNOWN.values())
    assert len({cls.__name__ for cls in KNOWN.values()}) == len(KNOWN)


# Committed hashes. One that changes makes all finished runs of its kind strangers to their configs: a new field must
# have the default that was done before, and no default may change.
HASHES = {
    "rope": "b320f2df",
    "randomized(max_position=64)|rope(scaling=yarn(factor=8, original_length=64))": "8ebcd45a",
    "learned/nope": "5728df87",
}


@pytest.mark.parametrize("posenc", HASHES)
def test_hashes_are_those_of_before(posenc):
    config = Run(task=Copying(kind="rsc"), posenc=parse(posenc), model=Transformer(num_layers=2))
    assert config_hash(config) == HASHES[posenc]


def test_a_field_at_its_default_is_no_part_of_the_hash():
    """A class that gets a field keeps the hashes of the configs that do not set it."""
    size, new = ("size", int, 1), ("new", float, 0.5)
    before, after = (
        dataclasses.make_dataclass("Same", fields, bases=(Value,), frozen=True) for fields in ([size], [size, new])
    )
    assert config_hash(before(3)) == config_hash(after(3)) != config_hash(after(3, new=0.25))


def test_names_seeds_rates_and_execution_are_no_part_of_the_hash():
    other = dataclasses.replace(
        CONFIG, seeds=(7,), learning_rates=(1.0,), label="x", table="y", note="z", execution=type(CONFIG.execution)()
    )
    assert config_hash(other) == config_hash(CONFIG)


def test_unknown_fields_and_classes_are_refused_by_name(finished):
    path = finished / "config.json"
    sealed_files.rewrite(path, lambda data: data["config"]["model"].update(logit_softcap=30.0))
    with pytest.raises(
        RefusedError, match=r"transformer has no field 'logit_softcap' in this version \(it has d_model"
    ):
        load_config(finished)
    with pytest.raises(RefusedError, match="no field 'logit_softcap'"):
        run(CONFIG, finished)
    sealed_files.rewrite(path, lambda data: data["config"].update(model={"type": "mamba"}))
    with pytest.raises(
        RefusedError, match=r"'mamba' is neither a class of posenc_jax nor one that comes with this file"
    ):
        load_config(finished)
    sealed_files.rewrite(path, lambda data: data["config"].pop("task"))
    with pytest.raises(RefusedError, match=r"config\.json"):
        load_config(finished)


@pytest.mark.parametrize("written", [3, None])
def test_another_format_is_refused(finished, written):
    for name in ("config.json", "group-000/config.json"):
        copy = shutil.copytree(finished, finished.with_name(name.replace("/", "-")))
        sealed_files.rewrite(copy / name, lambda data: data.update(format=written))
        with pytest.raises(RefusedError) as error:
            run(dataclasses.replace(CONFIG, seeds=(0, 1, 2)), copy)
        assert str(error.value) == (
            f"{copy / name} is of format {written}, and this version reads format {FORMAT} alone: choose another "
            "directory to run it again, or use the version that wrote it"
        )


@pytest.mark.parametrize("name", ["os:system", "../payload.py:X", "payload.py:X"])
def test_nothing_that_a_file_names_is_imported(finished, tmp_path, monkeypatch, name):
    """A config.json or the metadata of weights name classes: no module is loaded, no code of theirs runs."""
    (tmp_path / "payload.py").write_text("raise SystemExit('the payload ran')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sealed_files.rewrite(finished / "config.json", lambda data: data["config"].update(model={"type": name}))
    with pytest.raises(RefusedError, match="is neither a class of posenc_jax"):
        load_config(finished)
    if name.startswith("payload.py"):  # not even when it claims to have brought it
        sealed_files.rewrite(finished / "config.json", lambda data: data.update(code={name: "0" * 64}))
        with pytest.raises(RefusedError, match=r"code/[0-9a-f]{8} is not there, which this run needs"):
            load_config(finished)
    from safetensors.numpy import save_file

    sizes = {"layout": "posenc_jax", "kind": "decoder_only", "vocab_size": 4, "num_classes": 4, "max_len": 4}
    for key in ("model", "slots"):
        metadata = sizes | {"model": to_json(Transformer()), "slots": {"type": "slots"}} | {key: {"type": name}}
        tensors = {"a": np.zeros(1, np.float32)}
        save_file(tensors, tmp_path / "w.safetensors", sealed_files.weights_entry(metadata, tensors))
        with pytest.raises(RefusedError, match="is neither a class of posenc_jax"):
            load_weights(tmp_path / "w.safetensors")
    assert "payload" not in sys.modules


def test_half_a_copy_of_a_run_is_refused_in_words(finished):
    (finished / "group-000" / "config.json").unlink()
    with pytest.raises(RefusedError, match=r"group-000 has no config.json"):
        run(CONFIG, finished)
