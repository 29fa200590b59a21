"""Safetensors files, treated as hostile: every claim of a header is checked before a tensor is read, and tensors are
read and written one by one.

A file is the length of its header (8 bytes), a JSON header that has dtype, shape and place of every tensor, and the
tensors (https://github.com/huggingface/safetensors, "Format").
"""

import functools
import itertools
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jax.numpy as jnp
import numpy as np

from posenc_jax.data.errors import DataError
from posenc_jax.files.shapes import problem

_LONGEST_HEADER = 100_000_000  # as the format's own library
_DTYPES: dict[str, Any] = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": jnp.bfloat16}
_OTHER_SIZES = {"I64": 8, "U64": 8, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "I8": 1, "U8": 1, "BOOL": 1}


class StoredTensor(NamedTuple):
    """A tensor in a file: its shape, the name of its dtype, and how to read it."""

    shape: tuple[int, ...]
    dtype: str
    read: Callable[[], np.ndarray]


def read_header(path: Path) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    """The tensors of a file by name, none of them read yet, and its metadata; `DataError` for what is no whole
    safetensors file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= min(size - 8, _LONGEST_HEADER):
                raise ValueError(f"its header would have {length:,} bytes, and the file has {size:,}")
            header = json.loads(file.read(length), object_pairs_hook=each_once)
        return _checked(path, header, 8 + length, size)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, ValueError) else "its header is nested too deep"
        raise DataError(f"{path} is no whole safetensors file ({said}): fetch it again, or name another") from None
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}): name a file that can be read") from None


def _checked(path: Path, header: Any, start: int, size: int) -> tuple[dict[str, StoredTensor], dict[str, str]]:
    metadata = header.pop("__metadata__", None) or {} if isinstance(header, dict) else {}
    shape = {"dtype": str, "shape": [int], "data_offsets": [int]}
    if wrong := problem(metadata, {str: str}) or problem(header, {str: shape}):
        raise ValueError(wrong)
    found, places = {}, []
    for name, entry in header.items():
        dtype, dims, offsets = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        itemsize = np.dtype(_DTYPES[dtype]).itemsize if dtype in _DTYPES else _OTHER_SIZES.get(dtype)
        if len(offsets) != 2 or not 0 <= offsets[0] <= offsets[1] or any(n < 0 for n in dims):
            raise ValueError(f"{name} has shape {list(dims)} at {offsets}")
        if offsets[1] > size - start:
            raise ValueError(f"{name} ends at byte {start + offsets[1]:,}, and the file has {size:,}")
        claimed = offsets[1] - offsets[0]
        if itemsize is not None and math.prod(dims) * itemsize != claimed:
            raise ValueError(f"{name} of shape {list(dims)} in {dtype} has {claimed:,} bytes")
        places.append((*offsets, name))
        read = functools.partial(_read, path, dtype, dims, start + offsets[0], name)
        found[name] = StoredTensor(dims, dtype, read)
    places.sort()
    for (_, end, before), (begin, _, after) in itertools.pairwise(places):
        if begin < end:
            raise ValueError(f"{before} and {after} overlap")
    if after := size - start - max((end for _, end, _ in places), default=0):
        raise ValueError(f"{after:,} bytes stand behind its last tensor")
    return found, metadata


def _read(path: Path, dtype: str, shape: tuple[int, ...], offset: int, name: str) -> np.ndarray:
    check_dtype(path, name, dtype)
    with path.open("rb") as file:
        file.seek(offset)
        array = np.fromfile(file, np.dtype(_DTYPES[dtype]), math.prod(shape))
    if array.size != math.prod(shape):
        raise DataError(f"{path} has become shorter than it was: fetch it again")
    return array.reshape(shape)


def check_dtype(path: Path, name: str, dtype: str) -> None:
    """Refuses a tensor of a dtype that is not read."""
    if dtype not in _DTYPES:
        raise DataError(
            f"{path}: {name} is stored in {dtype}, and weights are read from {', '.join(_DTYPES)}: convert the "
            "checkpoint to one of these"
        )


def each_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The values by their names; ValueError for a name that is there twice, or is not printable."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if not name.isprintable():
            raise ValueError(f"it has the name {name[:40]!a}, which is not printable")
        if name in found:
            raise ValueError(f"it has {name!r} twice")
        found[name] = value
    return found


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
