"""A checkpoint as a finished run: other commands take it, bad ones leave nothing behind."""

import json
from pathlib import Path

import numpy as np
import pytest
from make_huggingface_reference import CASES, tensor
from tiny_checkpoints import checkpoint_of, tensors_of, whole, write_tensors

from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.safetensors import read_header
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.exporting import export_checkpoint
from posenc_jax.runs.importing import import_checkpoint
from posenc_jax.runs.inference import load_run
from posenc_jax.runs.state import replica_params
from posenc_jax.runs.weights import export_weights, load_weights


def test_a_run_of_a_checkpoint_serves_other_commands(tmp_path, refusal):
    source, run = whole(tmp_path / "hf"), tmp_path / "run"
    config = import_checkpoint(source, run)
    assert config.task.data.tokenizer == "checkpoint"
    params = replica_params(run, 0, print)
    np.testing.assert_array_equal(params["embedding"]["table"], tensor("model.embed_tokens.weight", (48, 32)))
    loaded = load_run(run)
    assert loaded.tokenizer.decode(loaded.tokenizer.encode("abc")) == "abc"
    assert loaded.tokenizer.bos == 1
    export_weights(run, tmp_path / "w.safetensors")
    again, metadata = load_weights(tmp_path / "w.safetensors")
    np.testing.assert_array_equal(again["embedding"]["table"], params["embedding"]["table"])
    assert metadata["tokenizer"] == loaded.tokenizer.sha256
    origin = json.loads((run / "origin.json").read_text())
    assert origin["family"] == "llama"
    assert set(origin["files"]) == {"config.json", "model.safetensors"}
    assert "exists: choose another directory" in refusal("weights", "import", str(source), "-o", str(run))


def test_changed_weights_are_noticed(tmp_path):
    import_checkpoint(whole(tmp_path / "hf"), tmp_path / "run")
    path = tmp_path / "run" / "group-000" / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(RefusedError, match=r"is not what .*result\.json was measured with"):
        replica_params(tmp_path / "run", 0, print)


def refused(tmp_path: Path, match: str) -> None:
    """One line, and nothing is left behind."""
    with pytest.raises((DataError, RefusedError), match=match) as error:
        import_checkpoint(tmp_path / "hf", tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()
    assert not list(tmp_path.glob(".run*"))


def test_what_is_refused(tmp_path, monkeypatch):
    path = whole(tmp_path / "hf")
    weights = (path / "model.safetensors").read_bytes()
    (path / "config.json").write_text(json.dumps(CASES["llama"] | {"intermediate_size": 44}))
    refused(tmp_path, r"gate_proj.weight has shape \[40, 32\], and its config says \[44, 32\]")
    (path / "config.json").write_text(json.dumps({"model_type": "lama", "auto_map": {"AutoModel": "x.y"}}))
    others = r"llama, .*, mpt, bert, .*, t5, mt5, umt5, marian are: did you mean 'llama'\?"
    refused(tmp_path, rf"'lama', whose code \(auto_map\) is never run, is not read, and {others}")
    (path / "config.json").write_text(json.dumps(CASES["llama"] | {"quantization_config": {"quant_method": "gptq"}}))
    refused(tmp_path, r"quantization_config is there \('gptq'\), and quantised weights are read from GGUF alone: name")
    (path / "config.json").write_text(json.dumps(CASES["llama"] | {"hidden_act": "gelu"}))
    refused(tmp_path, "hidden_act = 'gelu', and 'silu' is read")
    (path / "config.json").write_text(json.dumps(CASES["llama"] | {"num_hidden_layers": 4}))
    refused(tmp_path, "has tensors of 3 layers, and its config says 4: it is not, or not all")
    (path / "config.json").write_text(json.dumps(CASES["llama"] | {"num_hidden_layers": 2}))
    refused(tmp_path, r"has model.layers.2.input_layernorm.weight, .*which no model of this config has")
    other = {"model_type": "qwen2", "layer_types": ["linear_attention"] * 3}
    (path / "config.json").write_text(json.dumps(CASES["llama"] | other))
    refused(tmp_path, "layers of linear_attention are not computed here")
    for name, value in (("eos", 48), ("bos", -1)):
        (path / "config.json").write_text(json.dumps(CASES["llama"] | {f"{name}_token_id": value}))
        refused(tmp_path, f"config.json: {name}_token_id = {value} must be a token of the 48 that there are: mend the")
    (path / "config.json").write_text(json.dumps(CASES["llama"]))
    for content in (b"", weights[:100], weights[:-4], b"\x80\x02PK" + weights, weights[:8] + b"[" * 1000 + weights[8:]):
        (path / "model.safetensors").write_bytes(content)
        refused(tmp_path, "no whole safetensors file")
    (path / "model.safetensors").unlink()
    (path / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    refused(tmp_path, "pytorch_model.bin is a pickle, which may run any code when it is read, and is never opened")
    index = {"weight_map": {"model.norm.weight": "model-00001-of-00002.safetensors"}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(tmp_path, "lacks model-00001-of-00002.safetensors of 1 shards")
    index["weight_map"]["model.norm.weight"] = "../model.safetensors"
    (path / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(tmp_path, "names '../model.safetensors', which is no file beside it")
    (path / "model.safetensors").write_bytes(weights)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    refused(tmp_path, r"needs [\d,]+ bytes, and 1,000 are free")
    (path / "tokenizer.json").unlink()
    refused(tmp_path, "has no tokenizer.json")


def test_a_file_alone_names_its_folder(tmp_path):
    path = whole(tmp_path / "hf")
    for name in ("config.json", "model.safetensors"):
        with pytest.raises(DataError, match=rf"{name} alone is no checkpoint: name its folder, .*hf, which has config"):
            load(path / name)


def test_code_that_a_config_names_is_noted(tmp_path):
    notes = []
    source = whole(tmp_path / "hf", "llama", auto_map={"AutoModelForCausalLM": "own.Model"})
    import_checkpoint(source, tmp_path / "run", notes.append)
    assert len(notes) == 1
    assert "auto_map names code beside the weights; it is not run, and the model is computed as transf" in notes[0]


def test_whole_numbers_that_are_written_as_floats(tmp_path):
    """One rule for all: sizes, ids of tokens, patterns of layers."""
    changes = {"max_position_embeddings": 512.0, "hidden_size": 32.0, "eos_token_id": 2.0}
    found = load(whole(tmp_path / "a", "llama", **changes))
    assert (found.max_len, found.model.d_model, found.tokenizer.eos) == (512, 32, 2)
    assert load(checkpoint_of("gemma2", tmp_path / "b", sliding_window_pattern=2.0)).model.windows == (64, 0)
    assert load(checkpoint_of("deberta_v2", tmp_path / "c", max_relative_positions=-1.0)).max_len == 512
    answers = load(checkpoint_of("t5", tmp_path / "d", decoder_start_token_id=0.0, eos_token_id=[7.0])).answers
    assert [type(value) for value in (answers.start, answers.eos)] == [int, int]
    for value in (128.5, 1e30, "128"):
        with pytest.raises(DataError, match=r"max_position_embeddings = .* must be a whole number above 0"):
            load(checkpoint_of("llama", tmp_path / "e", max_position_embeddings=value))


def test_a_length_that_a_config_leaves_out_is_noted(tmp_path):
    notes = []
    source = whole(tmp_path / "hf", "llama", max_position_embeddings=None)
    assert import_checkpoint(source, tmp_path / "run", notes.append).task.max_length == 2048
    assert [note.partition(": ")[2] for note in notes] == ["max_position_embeddings is missing, and 2,048 is taken"]


def test_layers_are_counted_before_they_are_traced(tmp_path, monkeypatch):
    """Tracing 1,024 layers takes minutes, however small the file is."""
    monkeypatch.setattr("posenc_jax.huggingface.checkpoint.shapes_of", lambda *sizes, **more: pytest.fail("traced"))
    for name in ("llama", "gpt2"):
        changes = {"n_layer" if name == "gpt2" else "num_hidden_layers": 1024}
        with pytest.raises(DataError, match="has tensors of 3 layers, and its config says 1024"):
            load(checkpoint_of(name, tmp_path / name, **changes))


def test_a_tensor_that_is_missing_is_named(tmp_path):
    checkpoint_of("llama", tmp_path, attention_bias=True)
    with pytest.raises(DataError, match=r"lacks model.layers.0.self_attn.q_proj.bias, .* and 8 more: it is not, or"):
        load(tmp_path)


def test_names_with_and_without_their_prefix(tmp_path):
    path = checkpoint_of("gpt2", tmp_path)
    long = tensors_of(path)
    short = {name.removeprefix("transformer."): tensor for name, tensor in long.items()}
    write_tensors(path, short)
    assert load(path).tensors.keys() == long.keys()
    write_tensors(path, short | {"transformer.ln_f.bias": short["ln_f.bias"]})
    with pytest.raises(DataError, match=r"has transformer.ln_f.bias twice"):
        load(path)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_export_gives_the_checkpoint_back_bit_for_bit(tmp_path, monkeypatch, name):
    source = whole(tmp_path / "hf", name)
    import_checkpoint(source, tmp_path / "run")
    export_checkpoint(tmp_path / "run", tmp_path / "again")
    before, after = (read_header(path / "model.safetensors")[0] for path in (source, tmp_path / "again"))
    assert after.keys() == before.keys()
    for key, stored in before.items():
        np.testing.assert_array_equal(after[key].read(), stored.read(), err_msg=key)
    own = json.loads((tmp_path / "again" / "config.json").read_text())
    assert own == CASES[name] | {"architectures": own["architectures"], "torch_dtype": "float32"}
    assert (tmp_path / "again" / "tokenizer.json").read_bytes() == (source / "tokenizer.json").read_bytes()
    with pytest.raises(RefusedError, match="exists: choose another directory"):
        export_checkpoint(tmp_path / "run", tmp_path / "again")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 1000}))
    with pytest.raises(RefusedError, match=r"third needs [\d,]+ bytes, and 1,000 are free"):
        export_checkpoint(tmp_path / "run", tmp_path / "third")
    assert not (tmp_path / "third").exists()
