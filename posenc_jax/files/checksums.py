"""Checksums in JSON: a document, or a row of a file of rows, carries one over its other members.

``{"seed": 0, "loss": 0.5, "checksum": "sha256:0123456789abcdef"}``: the first 16 hex digits of the SHA-256 of the other
members as compact JSON with sorted names, so that a checksum is of what a document says, whoever formats it. What has
none is not read.
"""

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from posenc_jax.files.shapes import loads

_NAME = "checksum"
_KIND = "sha256:"


class DamagedError(ValueError):
    """Content is not what was written; the message is why."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a file of rows.

    Attributes:
      number: from 1.
      row: what it says, without its checksum, or None where it is damaged.
      problem: why it is, or "".
    """

    number: int
    row: dict[str, Any] | None
    problem: str


def seal(data: dict[str, Any]) -> dict[str, Any]:
    """JSON values with their checksum as the last member."""
    return {**data, _NAME: _checksum(data)}


def unseal(content: bytes | str) -> dict[str, Any]:
    """The object in a JSON text without its checksum.

    Raises:
      DamagedError: it is no JSON object, has no checksum, or is not the one that was written.
    """
    try:
        data = loads(content)
        if not isinstance(data, dict):
            raise DamagedError("it holds no object")
        if _NAME not in data:
            raise DamagedError("it has no checksum, so it was changed, or an earlier version wrote it")
        if data.pop(_NAME, None) != _checksum(data):
            raise DamagedError("its checksum is not that of its content")
    except ValueError as error:  # also bytes that are no text
        raise DamagedError(str(error)) from None
    return data


def read_lines(content: bytes) -> list[Line]:
    """Every line of a file of rows."""
    return [_read(number, text) for number, text in enumerate(content.split(b"\n"), 1) if text.strip()]


def _read(number: int, text: bytes) -> Line:
    try:
        return Line(number, unseal(text), "")
    except DamagedError as error:
        return Line(number, None, str(error))


def sha256_of(data: Any) -> str:
    """SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def sha256_of_files(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of all files in a folder."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    total = hashlib.sha256()
    for inner in sorted(inner for inner in path.rglob("*") if inner.is_file()):
        total.update(f"{inner.relative_to(path).as_posix()}\0{sha256_of_files(inner)}\n".encode())
    return total.hexdigest()


def _checksum(data: dict[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{_KIND}{hashlib.sha256(text.encode()).hexdigest()[:16]}"
