"""Files of runs as another process would have written them: changed, with their checksums."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from posenc_jax.checksums import seal, unseal


def read(path: Path) -> dict[str, Any]:
    """What a document says."""
    return unseal(path.read_bytes())[0]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What the rows of a file say."""
    return [unseal(line)[0] for line in path.read_bytes().splitlines()]


def write(path: Path, data: dict[str, Any]) -> None:
    """A document with its checksum."""
    path.write_text(json.dumps(seal(json.loads(json.dumps(data)))))


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes a document in place."""
    data = read(path)
    change(data)
    write(path, data)
