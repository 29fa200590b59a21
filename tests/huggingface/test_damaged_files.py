"""Checkpoints that are damaged, or not what their config says: one line each, in one table a kind of file."""

import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import pytest
from make_huggingface_reference import CASES
from tiny_checkpoints import tensors_of, whole, write_tensors

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.huggingface.names import NameRule, of_model
from posenc_jax.huggingface.safetensors import read_header
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.runs.importing import export_checkpoint, import_checkpoint

INDEX, SINGLE, SHARD = "model.safetensors.index.json", "model.safetensors", "model-00001-of-00001.safetensors"
NORM = "model.norm.weight"


def one_line(match: str, read, *arguments) -> None:
    with pytest.raises((DataError, RefusedError), match=match) as error:
        read(*arguments)
    assert "\n" not in str(error.value)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return whole(tmp_path_factory.mktemp("source") / "hf")


@pytest.fixture
def folder(source, tmp_path):
    (tmp_path / "hf").mkdir()
    for path in source.iterdir():
        (tmp_path / "hf" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "hf"


def sharded(folder: Path, weight_map=None, text=None) -> None:
    """The weights as one shard, with an index that says so but for what ``weight_map`` adds, or has without."""
    (folder / SINGLE).rename(folder / SHARD)
    own = dict.fromkeys(read_header(folder / SHARD)[0], SHARD) | (weight_map or {})
    own = {name: file for name, file in own.items() if file != "gone"}
    (folder / INDEX).write_text(json.dumps({"weight_map": own}) if text is None else text)


def rewritten(folder: Path, change) -> None:
    tensors = tensors_of(folder)
    change(tensors)
    write_tensors(folder, tensors)


def in_eight_bits(folder: Path) -> None:
    """The same bytes as four times as many numbers."""
    content = (folder / SINGLE).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    for name in header.keys() - {"__metadata__"}:
        header[name] |= {"dtype": "F8_E4M3", "shape": [*header[name]["shape"], 4]}
    text = json.dumps(header).encode()
    (folder / SINGLE).write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


TENSORS = {
    "no weights": (lambda f: (f / SINGLE).unlink(), "has no model.safetensors and no index of shards: fetch it again"),
    "an index that is no JSON": (lambda f: sharded(f, text="{"), "is no index of shards .*: fetch it again"),
    "an index without a map": (lambda f: sharded(f, text="{}"), "is no index of shards .*weight_map"),
    "a tensor of another shard": (lambda f: sharded(f, {NORM: "b.safetensors"}), "lacks b.safetensors of 2 shards"),
    "another tensor": (lambda f: rewritten(f, lambda t: t.update(own=t.pop(NORM))), f"hf lacks {NORM} and has own"),
    "another shape": (
        lambda f: rewritten(f, lambda t: t.update({NORM: np.zeros(31, np.float32)})),
        rf"{NORM} has shape \[31\], and its config says \[32\]: it is another checkpoint's, fetch both again",
    ),
    "no tensor of a layer": (
        lambda f: rewritten(f, lambda t: [t.update({f"language_{key}": t.pop(key)}) for key in list(t)]),
        "tensors of no layer, but language_model.embed_tokens.weight, .* more, and its config says 3",
    ),
    "weights of eight bits": (in_eight_bits, "is stored in F8_E4M3, and weights are read from F64, F32, F16, BF16"),
    "a large tokenizer": (lambda f: (f / "tokenizer.json").open("wb").truncate(2**27 + 1), "more than 134,217,728"),
}


@pytest.mark.parametrize(("damage", "match"), TENSORS.values(), ids=TENSORS)
def test_damaged_directories(folder, damage, match):
    damage(folder)
    one_line(match, load, folder)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rope_scaling": "linear"}, "config.json: rope_scaling must be an object, as in"),
        (
            {"per_layer_config": {"1": {"rms_norm_eps": 0.5}}},
            "config.json: per_layer_config = .* is not read, and may say",
        ),
        ({"num_key_value_heads": 3}, "config.json gives no model: .*num_kv_heads"),
        ({"bos_token_id": None, "eos_token_id": None}, "the config has neither bos_token_id nor eos_token_id: add one"),
        ({"bos_token_id": "<s>"}, "config.json: bos_token_id = '<s>' must be a token of the 48 that there are: mend"),
        ({"eos_token_id": [2, "</s>"]}, "eos_token_id = '</s>' must be a token"),
        ({"model_type": "llamma"}, r"= 'llamma' is not read, and llama, .*, marian are: did you mean 'llama'\?$"),
        ({"num_hidden_layers": "3"}, "num_hidden_layers = '3' must be a whole number above 0: mend the config"),
    ],
)
def test_configs_that_declare_no_model(folder, changes, match):
    (folder / "config.json").write_text(json.dumps(CASES["llama"] | changes))
    one_line(match, load, folder)


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


HEADERS = {
    "a list": [ENTRY],
    "another size": {"a": ENTRY | {"data_offsets": [0, 4]}},
    "an overlap": {"a": ENTRY, "b": ENTRY | {"data_offsets": [4, 12]}},
    "a rest": {"a": ENTRY},
    "a name of two lines": {"a\n" + "b" * 999: {"dtype": "F32", "shape": [3], "data_offsets": [0, 12]}},
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_damaged_safetensors(tmp_path, header):
    text = json.dumps(header).encode()
    (tmp_path / "m").write_bytes(len(text).to_bytes(8, "little") + text + bytes(12))
    one_line(r"m is no whole safetensors file \(.{5,200}\): fetch it again, or name", read_header, tmp_path / "m")


def test_tables_that_name_a_part_twice_or_not_at_all(folder, monkeypatch):
    for rows in ((NameRule("a", ("x", "y")),), (NameRule("a", ("x",)), NameRule("b", ("x",)))):
        with pytest.raises(ValueError, match=r"the table's row [ab] <-> x.* matches twice, or in part"):
            of_model(rows, {"x": (1,)}, 1)
    family = FAMILIES["llama"]
    names = tuple(row for row in family.names if row.theirs != NORM)
    monkeypatch.setitem(FAMILIES, "llama", dataclasses.replace(family, names=names, ignored=(re.escape(NORM),)))
    one_line("hf: no tensor of a llama checkpoint is our decoder.final_norm.scale", load, folder)


def test_what_is_not_exported(folder, tmp_path, monkeypatch):
    import_checkpoint(folder, tmp_path / "run")
    path = tmp_path / "run" / "origin.json"
    origin = read_json(path)

    def refused(match: str) -> None:
        one_line(match, export_checkpoint, tmp_path / "run", tmp_path / "again")
        assert not (tmp_path / "again").exists()

    write_json(path, origin | {"family": "lama"})
    refused(r"run is from a checkpoint that this version does not read \('lama'\)")
    write_json(path, origin | {"config": origin["config"] | {"rms_norm_eps": 1e-3}})
    refused(r"run is another model than its checkpoint's config says, and .* that one: model\.norm_epsilon")
    write_json(path, origin | {"generation": [1]})
    refused(r"origin.json is no record of a checkpoint \(generation is a list, not an object\): restore it, or")
    write_json(path, origin)
    monkeypatch.setattr("posenc_jax.runs.state.surviving_seeds", lambda run: [])
    refused("every replica of .*run diverged: train it with a")
    path.unlink()
    refused("run did not begin as a checkpoint of others, so no family of transformers has its form: `posenc weights")
