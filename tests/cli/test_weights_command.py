"""``posenc weights``: what it prints, and how it refuses; exports are with the library's tests."""

import numpy as np
import sealed_files
from safetensors.numpy import save_file

from posenc_jax.models import Slots, Transformer
from posenc_jax.runs.weights import model_metadata


def test_inspect(tmp_path, printed, refusal):
    path = tmp_path / "a.safetensors"
    tensors = {"b": np.ones((3, 4), np.float32), "a": np.ones(3, np.float16), "scale": np.array(3)}
    sizes = {"vocab_size": 5, "num_classes": 3, "max_len": 6}
    metadata = model_metadata("decoder_only", Transformer(d_model=8), Slots(), **sizes)
    save_file(tensors, path, sealed_files.weights_entry(metadata, tensors) | {"origin": "by hand"})
    lines = printed("weights", "inspect", str(path)).splitlines()
    assert lines[0] == "3 tensors, 16 values, 62 bytes"
    assert [line.split()[0] for line in lines[4:7]] == ["a", "b", "scale"]
    assert "origin: by hand" in lines
    save_file(tensors, path, {"posenc_jax": "x" * 200})
    assert " is damaged (what it says of its model: " in refusal("weights", "inspect", str(path))
