"""Memory and time of `posenc import`: a checkpoint of Llama's kind with random weights, read tensor by tensor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tokenizers

from benchmarks.results import Table
from posenc_jax.huggingface.checkpoint import declared_model
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.huggingface.names import of_model
from posenc_jax.huggingface.safetensors import write
from posenc_jax.training.leaf_names import flat
from posenc_jax.training.step import shapes_of

# VmHWM, since the peak that getrusage gives begins with that of the parent.
_MEASURED = """
import pathlib, re, sys, time
import posenc_jax.runs.importing as importing
def peak():
    return int(re.search(r"VmHWM:\\s+([0-9]+) kB", pathlib.Path("/proc/self/status").read_text())[1])
before, begun = peak(), time.process_time()
importing.import_checkpoint(sys.argv[1], sys.argv[2])
print(peak() - before, time.process_time() - begun)
"""


def make(folder: Path, width: int, layers: int, vocab_size: int) -> int:
    """Writes a checkpoint; gives the bytes of its weights in float32."""
    config = {
        "model_type": "llama",
        "hidden_act": "silu",
        "vocab_size": vocab_size,
        "hidden_size": width,
        "intermediate_size": 3 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": width // 16,
        "num_key_value_heads": width // 16,
        "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    family = FAMILIES["llama"]
    model, slots, *_ = declared_model(family, config, folder, tied=True)
    ours = flat(shapes_of(family.kind, model, slots, vocab_size=vocab_size, num_classes=vocab_size, max_len=64))
    rows = of_model(family.names, {name: leaf.shape for name, leaf in ours.items()}, layers)
    shapes = {name: row.change.shape([ours[part].shape for part in row.ours]) for name, row in rows.items()}
    draws = np.random.default_rng(0)
    with (folder / "model.safetensors").open("wb") as file:
        tensors = ((name, draws.standard_normal(shape, np.float32)) for name, shape in shapes.items())
        write(file, shapes, tensors, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, [])).save(str(folder / "tokenizer.json"))
    return 4 * sum(int(np.prod(shape)) for shape in shapes.values())


def importing(width: int = 768, layers: int = 6, vocab_size: int = 49152) -> Iterator[Table]:
    """Peak memory of an import beyond that of the imports of Python, as a multiple of the weights in float32."""
    with tempfile.TemporaryDirectory() as folder:
        source, run = Path(folder, "checkpoint"), Path(folder, "run")
        source.mkdir()
        size = make(source, width, layers, vocab_size)
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-c", _MEASURED, str(source), str(run)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        kilobytes, seconds = map(float, done.stdout.split())
    yield Table(
        title="Import of a checkpoint",
        about=f"Llama's kind, {layers} layers, d_model {width}, vocabulary {vocab_size:,}; beyond Python's imports",
        first="of",
        columns={"weights, MB": "{:.1f}", "peak memory, MB": "{:.1f}", "over the weights": "{:.2f}", "CPU s": "{:.1f}"},
        rows={"posenc import": (size / 1e6, kilobytes * 1024 / 1e6, kilobytes * 1024 / size, seconds)},
    )
