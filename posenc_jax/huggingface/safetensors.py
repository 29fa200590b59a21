"""Safetensors files: tensors are read and written one by one.

The library ``safetensors`` reads them (https://github.com/huggingface/safetensors, "Format"); it writes all tensors of
a file at once, so they are written here.
"""

import functools
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jax.numpy  # noqa: F401  from which NumPy knows bfloat16
import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.extras import needed
from posenc_jax.refusals import first_line

_DTYPES = ("F64", "F32", "F16", "BF16")
_LONGEST_NAME = 200


class StoredTensor(NamedTuple):
    """A tensor in a file: its shape, the name of its dtype, and how to read it."""

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], np.ndarray]


def read_header(path: Path) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """The tensors of a file by name, none of them read yet, and its metadata; `DataError` for what is no whole
    safetensors file.
    """
    with needed("text", "a safetensors file"):
        from safetensors import SafetensorError, safe_open

    try:
        found = {}
        with safe_open(path, framework="numpy") as file:
            for name in file.keys():  # noqa: SIM118  it is no dict
                about, read = file.get_slice(name), functools.partial(_read, path, name)
                found[name] = StoredTensor(tuple(about.get_shape()), about.get_dtype(), read)
            metadata = file.metadata() or {}
        check_names(found)
        return found, metadata
    except (SafetensorError, ValueError) as error:
        raise DataError(
            f"{path} is no whole safetensors file ({first_line(error)}): fetch it again, or name another"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read {path} ({first_line(error)}): name a file that can be read") from None


def _read(path: Path, name: str) -> np.ndarray:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return np.asarray(file.get_tensor(name))


def check_names(names: Iterable[str]) -> None:
    """ValueError for a name that no tensor has, since messages repeat names."""
    for name in names:
        if not name.isprintable() or len(name) > _LONGEST_NAME:
            raise ValueError(f"it has the name {name[:40]!a}, which is not printable or too long")


def check_dtype(path: Path, name: str, dtype: str) -> None:
    """Refuses a tensor of a dtype that is not read."""
    if dtype not in _DTYPES:
        raise DataError(
            f"{path}: {name} is stored in {dtype}, and weights are read from {', '.join(_DTYPES)}: convert the "
            "checkpoint to one of these"
        )


def write(
    file: BinaryIO,
    shapes: Mapping[str, tuple[int, ...]],
    tensors: Iterable[tuple[str, np.ndarray]],
    metadata: Mapping[str, str],
) -> None:
    """Writes float32 ``tensors`` one by one, in any order; ``shapes`` are those of all of them."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, shape in shapes.items():
        begin, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    start = 8 + len(text)
    file.write(len(text).to_bytes(8, "little") + text)
    if hasattr(os, "posix_fallocate") and end:
        os.posix_fallocate(file.fileno(), start, end)  # so that a full disk is known before the work
    left = set(shapes)
    for name, tensor in tensors:
        left.remove(name)
        assert tensor.shape == tuple(shapes[name]), (name, tensor.shape)
        file.seek(start + header[name]["data_offsets"][0])
        file.write(np.ascontiguousarray(tensor, "<f4").reshape(-1).view(np.uint8).data)
    assert not left, left
