"""Configs on disk: names that outlive the modules, nothing imported or dropped, old directories read or refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys

import numpy as np
import pytest
import sealed_files
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax import Ablation, Run, parse
from posenc_jax.config import config_hash, difference, from_json, is_own, to_json, type_name
from posenc_jax.config.reading import KNOWN
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings.value import Value
from posenc_jax.models.config import Transformer
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.weights import load_weights


@pytest.fixture
def finished(tmp_path):
    return copy_of_the_run(tmp_path / "run")


def of_the_first_format(directory):
    """Rewrites a run's directory as the first format had it: Python paths as types, no format, code or checksums."""
    modules = {type_name(cls): f"{cls.__module__}:{cls.__qualname__}" for cls in KNOWN.values()}

    def old(data):
        if isinstance(data, dict):
            return {name: modules[value] if name == "type" else old(value) for name, value in data.items()}
        return [old(value) for value in data] if isinstance(data, list) else data

    top = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps(old(top["config"]), indent=1) + "\n")
    for path in directory.glob("group-*/config.json"):
        data = json.loads(path.read_text())
        if "format" not in data:
            continue
        kept = {name: data[name] for name in ("replicas", "group_size")}
        path.write_text(json.dumps({"config": old(data["config"]), **kept}, indent=1) + "\n")
    without_checksums(directory)


def without_checksums(directory):
    for path in directory.glob("group-*/*.json"):
        data = sealed_files.read(path)
        data.pop("metrics_sha256", None)
        path.write_text(json.dumps(data))
    for path in directory.glob("group-*/*.jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in sealed_files.read_rows(path)))


def test_values_are_stored_under_registered_names(finished):
    data = json.loads((finished / "config.json").read_text())
    assert data["format"] == 3
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

    abstract = {
        "BinaryOperation",
        "Metric",
        "RangedTask",
        "RecallTask",
        "Reveal",
        "Task",
        "StringTask",
        "PositionTask",
        "TextTask",
        "PositionalEncoding",
        "RoPEScaling",
        "FrequencyDesign",
        "StructureMask",
    }
    classes = {
        cls
        for cls in subclasses(Value)
        if not is_own(cls) and cls.__name__ not in abstract and not cls.__name__.startswith("_")
        if getattr(sys.modules[cls.__module__], cls.__name__, None) is cls  # not of an example in a docstring
    }
    assert classes <= set(KNOWN.values())
    assert len({cls.__name__ for cls in KNOWN.values()}) == len(KNOWN), "the first format is read by class names"


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


def test_a_field_that_a_directory_lacks_has_its_default(finished):
    for path in (finished / "config.json", finished / "group-000" / "config.json"):
        sealed_files.rewrite(path, lambda data: data["config"]["optimizer"].pop("eps"))
    before = contents(finished / "group-000")
    assert load_config(finished) == CONFIG
    run(CONFIG, finished)
    assert contents(finished / "group-000") == before


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


def test_a_newer_format_is_refused(finished):
    for name in ("config.json", "group-000/config.json"):
        copy = shutil.copytree(finished, finished.with_name(name.replace("/", "-")))
        sealed_files.rewrite(copy / name, lambda data: data.update(format=4))
        with pytest.raises(RefusedError, match=r"is of format 4, and this version reads formats up to 3"):
            run(dataclasses.replace(CONFIG, seeds=(0, 1, 2)), copy)


@pytest.mark.parametrize("name", ["payload:X", "os:system", "payload.py:X", "../payload.py:X"])
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
        save_file({"a": np.zeros(1, np.float32)}, tmp_path / "w.safetensors", {"posenc_jax": json.dumps(metadata)})
        with pytest.raises(RefusedError, match="is neither a class of posenc_jax"):
            load_weights(tmp_path / "w.safetensors")
    assert "payload" not in sys.modules


def test_a_directory_of_the_first_format_is_complete(finished):
    of_the_first_format(finished)
    before = contents(finished / "group-000")
    assert load_config(finished) == CONFIG
    reporter = Notes()
    run(CONFIG, finished, reporter=reporter)
    assert any("already complete" in note for note in reporter.notes)
    assert contents(finished / "group-000") == before
    changed = dataclasses.replace(CONFIG, training=dataclasses.replace(CONFIG.training, steps=40))
    of_the_first_format(finished)
    with pytest.raises(RefusedError, match=r"training\.steps: 20 -> 40"):
        run(changed, finished)


@pytest.mark.slow
def test_a_directory_of_the_first_format_goes_on(finished):
    """Finished groups stay as they are, new seeds are trained beside them."""
    of_the_first_format(finished)
    before = contents(finished / "group-000")
    results = run(dataclasses.replace(CONFIG, seeds=(0, 1, 2)), finished)
    assert [[replica["seed"] for replica in result["replicas"]] for result in results] == [[0, 1], [2]]
    assert contents(finished / "group-000") == before


def test_an_ablation_of_the_first_format_finds_its_cells(tmp_path):
    cell = dataclasses.replace(CONFIG, label="both", table="copies", seeds=(0, 1))
    config, directory = Ablation("a", (cell,)), tmp_path / "ablation"
    copy_of_the_run(directory / "copies-both-0123abcd")
    (directory / "config.json").write_text(json.dumps({"format": 2, "config": to_json(config), "code": {}}))
    for path in directory.glob("copies-*/**/config.json"):
        sealed_files.rewrite(path, lambda data: data["config"].update(label="both", table="copies"))
    of_the_first_format(directory / "copies-both-0123abcd")
    (directory / "config.json").write_text(json.dumps({"config": to_json(config), "code": {}}))
    reporter = Notes()
    ablate(config, directory, reporter=reporter)
    assert any("already complete" in note for note in reporter.notes)
    assert [path.name for path in directory.iterdir() if path.is_dir()] == ["copies-both-0123abcd"]
    row = json.loads((directory / "results.jsonl").read_text().splitlines()[0])
    assert row["config_hash"] == config_hash(cell)


def test_half_a_copy_of_a_run_is_refused_in_words(finished):
    (finished / "group-000" / "config.json").unlink()
    with pytest.raises(RefusedError, match=r"group-000 has no config.json"):
        run(CONFIG, finished)


def test_differences_name_the_field():
    old, new = (to_json(dataclasses.replace(CONFIG, posenc=parse(text))) for text in ("rope", "rope(base=5e5)"))
    assert difference(old, new) == ["posenc[0].base: 10000.0 -> 500000.0"]
    assert from_json(new).posenc == parse("rope(base=5e5)")
