"""Writes parameters in the layout that transformers loads, the inverse of `checkpoint`."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.data.tokenizer import Tokenizer
from posenc_jax.files.atomic import new_folder, not_new, write_atomically
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full
from posenc_jax.huggingface.answers import FILE as GENERATION
from posenc_jax.huggingface.family import Family
from posenc_jax.huggingface.safetensors import write
from posenc_jax.models import Transformer

# What is said of the files that were read, not of those that are written.
_NOT_KEPT = ("auto_map", "torch_dtype", "dtype")


def save(
    directory: str | os.PathLike[str],
    family: Family,
    config: Json,
    generation: Json,
    model: Transformer,
    params: Mapping[str, Any],
    tokenizer: Tokenizer | None,
) -> None:
    """Writes config.json, model.safetensors in float32, what there is for generation_config.json, and the files of a
    checkpoint's tokenizer.

    Args:
      directory: a new one.
      config, generation: as were read.
      model: of that config.
      params: all arrays, by their names in a tree that was made flat.

    Raises:
      DataError: the directory exists, cannot be written, or has no room, or parts that are one tensor there differ.
    """
    directory = full(directory).absolute()
    if reason := not_new(directory, sum(4 * leaf.size for leaf in params.values())):
        raise DataError(reason)
    rows = family.rows(model, {name: leaf.shape for name, leaf in params.items()})
    shapes = {name: row.change.shape([params[part].shape for part in row.ours]) for name, row in rows.items()}

    def tensors() -> Iterator[tuple[str, np.ndarray]]:
        for name, row in rows.items():
            parts = [np.asarray(params[part], np.float32) for part in row.ours]
            try:
                tensor = row.change.join(parts, model.num_heads)
            except ValueError as error:
                raise DataError(
                    f"{', '.join(row.ours[:3])} cannot be written as {name} ({error}): make them equal"
                ) from None
            yield name, tensor

    kept = {name: value for name, value in config.items() if name not in _NOT_KEPT}
    with new_folder(directory) as folder:
        written = {**kept, **family.written, "architectures": [family.architecture], "torch_dtype": "float32"}
        write_atomically(folder / "config.json", json.dumps(written, indent=2) + "\n")
        if generation:
            write_atomically(folder / GENERATION, json.dumps(generation, indent=2) + "\n")
        with (folder / "model.safetensors").open("xb") as file:
            write(file, shapes, tensors(), {"format": "pt"})
        for name, data in ({} if tokenizer is None else tokenizer.files).items():
            write_atomically(folder / name, data)
