"""Files of runs as another process would have written them: changed, with their checksums."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from posenc_jax.files.checksums import seal, unseal
from posenc_jax.runs.directory import FORMAT
from posenc_jax.runs.weights import _sha256


def read(path: Path) -> dict[str, Any]:
    """What a document says."""
    return unseal(path.read_bytes())


def read_rows(path: Path) -> list[dict[str, Any]]:
    """What the rows of a file say."""
    return [unseal(line) for line in path.read_bytes().splitlines()]


def write(path: Path, data: dict[str, Any]) -> None:
    """A document with its checksum."""
    path.write_text(line(data))


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Rows with their checksums."""
    path.write_text("".join(line(row) + "\n" for row in rows))


def line(data: dict[str, Any]) -> str:
    """A document with its checksum, whatever checksum it had."""
    return json.dumps(seal({name: value for name, value in json.loads(json.dumps(data)).items() if name != "checksum"}))


def write_config(directory: Path, config: dict[str, Any], **members: Any) -> None:
    """``config.json`` of a run or, with its members, of a group."""
    directory.mkdir(parents=True, exist_ok=True)
    write(directory / "config.json", {"format": FORMAT, "config": config, "code": {}, **members})


def replace(path: Path, words: dict[str, str]) -> None:
    """Replaces words in the lines of a file of documents."""
    text = path.read_text()
    for old, new in words.items():
        text = text.replace(old, new)
    write_rows(path, map(json.loads, text.splitlines()))


def weights_entry(metadata: dict[str, Any], tensors: dict[str, Any]) -> dict[str, str]:
    """What a file of weights says of its model."""
    return {"posenc_jax": line({**metadata, "tensors": _sha256(tensors)})}


def rewrite(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes a document in place."""
    data = read(path)
    change(data)
    write(path, data)
