"""``posenc weights``: what it prints, and how it refuses; exports are with the library's tests."""

import numpy as np
import sealed_files
from safetensors.numpy import save_file

from posenc_jax.cli import main
from posenc_jax.encodings import RoPE
from posenc_jax.models import Slots, Transformer
from posenc_jax.runs.weights import model_metadata

INSPECTED = """\
blocks.2.bias     [2]     F32
blocks.10.bias    [3]     F16
blocks.10.kernel  [3, 4]  F32
scale             []      I64

4 tensors, 18 values, 70 bytes
kind: decoder_only
layout: posenc_jax
max_len: 6
model: {model}
num_classes: 3
origin: by hand
run: a table a label
slots: slots(encoder=(), decoder=(rope(base=5.0, layout='interleaved', rotary_dim=None, scaling=None)), cross=())
vocab_size: 5
"""


def test_inspect(tmp_path, capsys, printed, refusal):
    path = tmp_path / "a.safetensors"
    tensors = {
        "blocks.10.kernel": np.ones((3, 4), np.float32),
        "blocks.10.bias": np.ones(3, np.float16),
        "blocks.2.bias": np.ones(2, np.float32),
        "scale": np.array(3),
    }
    model = Transformer(d_model=8)
    metadata = model_metadata(
        "decoder_only", model, Slots(decoder=(RoPE(base=5.0),)), vocab_size=5, num_classes=3, max_len=6
    )
    run = {"run": {"table": "a table", "label": "a label"}}
    save_file(tensors, path, sealed_files.weights_entry(metadata | run, tensors) | {"origin": "by hand"})
    assert main(["weights", "inspect", str(path)]) == 0
    shown = repr(model).replace("Transformer", "transformer", 1)
    lines = capsys.readouterr().out.splitlines(keepends=True)
    sums = [line for line in lines if line.startswith(("checksum: sha256:", "tensors: "))]
    assert len(sums) == 2
    assert "".join(line for line in lines if line not in sums) == INSPECTED.format(model=shown)
    save_file(tensors, path, {"other": "a\n" + "x" * 200})
    assert printed("weights", "inspect", str(path)).endswith(f"70 bytes\nother: a {'x' * 95}...\n")
    save_file(tensors, path, {"posenc_jax": "x" * 200})
    assert " is damaged (what it says of its model: " in refusal("weights", "inspect", str(path))
