"""Configs on disk: names that outlive the modules, nothing imported or dropped, old directories read or refused."""

from __future__ import annotations

import dataclasses
import json
import shutil
import sys

import numpy as np
import pytest
import sealed_files
from trained_runs import CONFIG, copy_of_the_run

from posenc_jax import Run, parse
from posenc_jax.config import config_hash, is_own, to_json
from posenc_jax.config.reading import KNOWN
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings.value import Value
from posenc_jax.models.config import Transformer
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import FORMAT, load_config
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.weights import load_weights


@pytest.fixture
def finished(tmp_path):
    return copy_of_the_run(tmp_path / "run")


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
