"""JSON files of runs, and their rows: appended durably, keyed by step and replica, cut back to a checkpoint."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.files import HeldError, LockingError, append, held, write_atomically, write_changed
from posenc_jax.runs.errors import RefusedError


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Makes a run's or an ablation's directory and holds it for this process; RefusedError when it cannot."""
    try:
        with held(directory):
            yield
    except HeldError as error:
        raise RefusedError(f"{directory} is in use by {error}: wait for it, or choose another directory") from None
    except LockingError as error:
        raise RefusedError(f"cannot write in {directory} ({error}): choose another directory") from None


def read_json(path: Path) -> dict:
    """The object in a JSON file of ours; RefusedError when the file is damaged."""
    try:
        data = json.loads(path.read_text())
        if not isinstance(data, dict):
            raise ValueError("it holds no object")
    except ValueError as error:  # also bytes that are no text
        raise RefusedError(
            f"{path} is damaged ({error}): restore it, or move {path.parent} away to start that part over"
        ) from None
    return data


def write_json(path: Path, data: dict) -> None:
    """An object as JSON that people read, unless the file holds it already."""
    write_changed(path, json.dumps(data, indent=1) + "\n")


def dumps(value: Any) -> str:
    """JSON with non-finite numbers as null and floats as the shortest decimal that gives back the same float32."""
    return json.dumps(_clean(value), allow_nan=False)


def append_rows(path: Path, rows: Iterable[dict]) -> None:
    """Appends one line per row and waits until they are on disk."""
    append(path, "".join(dumps(row) + "\n" for row in rows))


def read_rows(path: Path) -> list[dict]:
    """All whole rows; a torn last line (the process died while writing it) is left out."""
    if not path.exists():
        return []
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return rows


def cut_back(path: Path, step: int) -> None:
    """Drops the rows after ``step``, so that training on from its checkpoint writes each row once."""
    rows = [row for row in read_rows(path) if row["step"] <= step]
    if path.exists():
        write_atomically(path, "".join(dumps(row) + "\n" for row in rows))


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _clean(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(v) for v in value]
    if hasattr(value, "item"):  # a NumPy or JAX scalar
        import numpy as np

        array = np.asarray(value)
        return _clean(float(str(array[()])) if array.dtype == np.float32 else array.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
