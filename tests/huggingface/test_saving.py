"""What is written is what transformers loads, with equal logits, and what is not written leaves nothing."""

import dataclasses
import json

import numpy as np
import pytest
from huggingface_parity import exported, rounding
from make_huggingface_reference import CASES
from tiny_checkpoints import checkpoint_of, tensors_of, write_tensors
from torch_live import torch_python

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.training.leaf_names import flat


def test_changed_parameters_of_a_model_are_read_again(tmp_path):
    first = load(checkpoint_of("t5", tmp_path / "hf"))
    model = first.build()
    model.embedding.table[...] += 1.0
    first.save(tmp_path / "mine", model)
    again = load(tmp_path / "mine")
    assert (again.model, again.slots) == (first.model, first.slots)
    own, config = CASES["t5"], json.loads((tmp_path / "mine" / "config.json").read_text())
    assert config == own | {"architectures": ["T5ForConditionalGeneration"], "torch_dtype": "float32"}
    before, after = flat(first.params()), flat(again.params())
    for name, leaf in after.items():
        np.testing.assert_array_equal(leaf, before[name] + (name == "embedding.table"), err_msg=name)


def test_what_is_refused_leaves_nothing(tmp_path, monkeypatch):
    checkpoint = load(checkpoint_of("bert", tmp_path / "hf"))
    params = checkpoint.params()

    def refused(params, match: str, to: str = "mine") -> None:
        with pytest.raises(DataError, match=match) as caught:
            checkpoint.save(tmp_path / to, params)
        assert "\n" not in str(caught.value)
        assert [path.name for path in tmp_path.iterdir()] == ["hf"]

    refused(params, "hf exists: choose another directory, or remove it", "hf")
    wide = params | {"embedding": params["embedding"] | {"table": np.zeros((49, 32))}}
    refused(wide, r"params: embedding.table is of shape \[49, 32\], and of shape \[48, 32\] in .*hf: give those of")
    refused(params | {"more": np.zeros(2)}, r"params: more is of shape \[2\], and none in")
    refused({"embedding": params["embedding"]}, "params: encoder.blocks.0.* is none, and of shape")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    refused(params, r"mine needs [\d,]+ bytes, and 1,000 are free: make room")


def test_copies_that_differ_are_not_written(tmp_path):
    checkpoint = load(checkpoint_of("deberta_v2", tmp_path / "hf"))
    model = checkpoint.build()
    model.posenc["encoder"][0][1]["key_offset"][...] += 1.0
    wanted = r"1.key_offset cannot be written as .*layer.1.attention.self.key_proj.bias .*differ\): make them equal"
    with pytest.raises(DataError, match=wanted):
        checkpoint.save(tmp_path / "mine", model)
    assert [path.name for path in tmp_path.iterdir()] == ["hf"]


def test_a_head_of_another_name_is_written_as_its_config_then_says(tmp_path):
    """Files of DeBERTa v3 have the names that transformers gives with ``legacy = False``."""
    first = load(checkpoint_of("deberta_v2", tmp_path / "hf"))
    path = checkpoint_of("deberta_v2", tmp_path / "v3", legacy=False)
    tensors = tensors_of(path)
    for name, theirs in {"transform.": "lm_predictions.lm_head.", "bias": "lm_predictions.lm_head.bias"}.items():
        tensors = {key.replace(f"cls.predictions.{name}", theirs): tensor for key, tensor in tensors.items()}
    assert len([key for key in tensors if key.startswith("lm_predictions")]) == 5
    write_tensors(path, tensors)
    second = load(path)
    second.save(tmp_path / "again", second.params())
    assert json.loads((tmp_path / "again" / "config.json").read_text())["legacy"] is True
    again = flat(load(tmp_path / "again").params())
    for name, leaf in flat(first.params()).items():
        np.testing.assert_array_equal(again[name], leaf, err_msg=name)


@pytest.mark.slow
def test_transformers_loads_what_is_saved_with_equal_logits(tmp_path):
    """And what it saves then is read again."""
    torch_python()  # before all that is made for it
    differences = exported(tmp_path)
    for name in CASES:
        assert differences[name]["long float32"] < 2 * rounding(name), name  # two programs round, each by so much
        first, saved = load(tmp_path / name / "hf"), load(tmp_path / name / "again" / "saved")
        models = [dataclasses.replace(c.model, head_dim=c.model.width_of_head) for c in (saved, first)]
        assert models[0] == models[1], name
        assert saved.slots == first.slots, name
