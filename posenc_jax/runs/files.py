"""Rows of JSON on disk: appended durably, keyed by step and replica, cut back to a checkpoint on resume."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def dumps(value: Any) -> str:
    """JSON with non-finite numbers as null and floats as the shortest decimal that gives back the same float32."""
    return json.dumps(_clean(value), allow_nan=False)


def append_rows(path: Path, rows: Iterable[dict]) -> None:
    """Appends one line per row and waits until they are on disk."""
    with path.open("a") as file:
        file.writelines(dumps(row) + "\n" for row in rows)
        file.flush()
        os.fsync(file.fileno())


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


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes by rename: the file is the old one or the new one, never a part."""
    temporary = path.with_name(path.name + ".tmp")
    data = content.encode() if isinstance(content, str) else content
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


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
