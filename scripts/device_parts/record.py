"""The file of a part: what was measured, on what, by which code."""

from __future__ import annotations

import datetime
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from benchmarks.results import machine

FORMAT = 1
_FACTS = ("format", "part", "date", "miniature", "code", "environment", "machine", "rows")
SAME = ("format", "part", "miniature", "code")
OF_DEVICE = ("jax", "device_kind")


def new(part: str, miniature: bool) -> dict[str, Any]:
    """A record without rows, of this code on this device."""
    from posenc_jax.runs.environment import environment

    found = environment()
    return {
        "format": FORMAT,
        "part": part,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "miniature": miniature,
        "code": f"{found['source'][:16]}-{_own_code()}",
        "environment": found,
        "machine": machine(),
        "rows": {},
    }


@functools.cache
def _own_code() -> str:
    """A digest of the parts' own files."""
    total = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()[:16]


def read(path: Path) -> dict[str, Any]:
    """A file of `write`; ValueError, in words, for anything else."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        raise ValueError(f"{path} is no whole JSON file: remove it") from None
    if not isinstance(found, dict) or not isinstance(found.get("rows"), dict):
        raise ValueError(f"{path} holds nothing that scripts/on_device wrote: remove it")
    if found.get("format") != FORMAT:
        raise ValueError(
            f"{path} is of format {found.get('format')!r}, and this version reads format {FORMAT}: measure again"
        )
    if lacking := [name for name in _FACTS if name not in found]:
        raise ValueError(f"{path} lacks {', '.join(lacking)}: measure again")
    return found


def begun(path: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """The record to go on with: the one of the file, or the new one that is ``wanted``.

    ValueError, in words, where the file is of other code, another device or other sizes.
    """
    if not path.exists():
        return wanted
    kept = read(path)
    here = [(name, kept[name], wanted[name]) for name in SAME]
    here += [(name, kept["environment"].get(name), wanted["environment"][name]) for name in OF_DEVICE]
    for name, then, now in here:
        if then != now:
            raise ValueError(
                f"{path} is of another version ({name} {then!r}, and here {now!r}): move it away, or give another --out"
            )
    return kept


def write(path: Path, record: dict[str, Any]) -> None:
    """Replaces the file at once."""
    from posenc_jax.files.atomic import write_atomically

    write_atomically(path, json.dumps(record, indent=1) + "\n")


def is_measured(row: dict[str, Any] | None) -> bool:
    """True if a row has what it is for; one that was left out, failed, stopped or only began does not."""
    return row is not None and not row.keys() & {"left_out", "failed", "stopped", "begun"}
