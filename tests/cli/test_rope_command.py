"""``posenc rope``: what it prints of released models and of files, and what it refuses."""

import json

import pytest

from posenc_jax.cli import main
from posenc_jax.encodings import parse, spec

MODELS = (
    *("Llama-2-7b", "Llama-3.1-8B", "Mistral-7B-v0.3", "GPT-J-6B", "Phi-3.5-mini", "DeepSeek-V3", "Gemma-3-1b"),
    *("Gemma-4-26B-A4B", "gpt-oss-20b", "Qwen3-VL-4B", "SmolLM3-3B"),
)


@pytest.mark.parametrize("name", MODELS)
def test_released_models(printed, name):
    out = printed("rope", name)
    specs = [line.partition(": ")[2] for line in out.splitlines() if line.startswith("layers ") and ": " in line]
    assert specs
    assert all(spec(parse(own)) == own for own in specs)
    assert "Inverse frequencies, layers 0" in out
    assert "https://github.com/" in out
    # (0.1 ln 40 + 1)^2, which mscale_all_dim = 1 asks for
    assert ("\n  and logits are multiplied by 1.873854\n" in out) == (name == "DeepSeek-V3")


def test_two_groups_of_layers(printed, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # a narrow screen folds rows
    out = printed("rope", "gemma-3-1B")
    assert "layers 5, 11, 17, 23: rope(base=1000000.0, layout='half')" in out
    assert "0-4, 6-10, 12-16, 18-22, 24-25  sliding     512" in out


def test_layers_that_differ_in_their_windows_alone_have_one_table(printed):
    out = printed("rope", "Gemma-2-9b")
    assert "\nlayers 0-41: rope(layout='half')\n" in out
    assert out.count("layers 0-41: ") == out.count("rope(") == out.count("Inverse frequencies, layers 0-41\n") == 1


def test_a_file_and_what_is_odd(printed, tmp_path):
    config = {"model_type": "llama", "num_hidden_layers": 2, "head_dim": 8, "max_position_embeddings": 64}
    config |= {"rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2.0, "beta_fast": 9}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    out = printed("rope", str(tmp_path))
    assert "above length 64" in out
    assert "Inverse frequencies, layers 0-1 at 128" in out
    assert "- beta_fast = 9 is ignored by rope_type 'dynamic'" in out


def test_what_is_assumed_is_said_first(capsys, tmp_path):
    config = {"model_type": "new", "num_hidden_layers": 2, "head_dim": 8, "rope_theta": 1e4, "layer_pattern": "LG"}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert main(["rope", str(tmp_path)]) == 2
    assert "model_type = 'new' is not known, and what it reads is not guessed" in capsys.readouterr().err
    assert main(["rope", str(tmp_path), "--as", "llama"]) == 3
    out = capsys.readouterr().out
    assert out.startswith("Assumption: model_type = 'new' is read as llama, which it may not be\n")
    assert "- layer_pattern = 'LG' is not read" in out


def test_a_picture(capsys, tmp_path):
    assert main(["rope", "Gemma-3-1b", "--output", str(tmp_path / "gemma.png")]) == 0
    assert (tmp_path / "gemma.png").read_bytes()[:4] == b"\x89PNG"
