"""Checksums in JSON: a document, or a row of a file of rows, carries one over its other members.

``{"seed": 0, "loss": 0.5, "checksum": "sha256:0123456789abcdef"}``: the first 16 hex digits of the SHA-256 of the other
members as compact JSON with sorted names, so that a checksum is of what a document says, whoever formats it. What was
written before there were checksums has none and is read as it is. A member that looks like a checksum under another
name is one whose name was damaged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from posenc_jax.shapes import loads

_NAME = "checksum"
_KIND = "sha256:"


class DamagedError(ValueError):
    """Content is not what was written; the message is why."""


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a file of rows.

    Attributes:
      number: from 1. row: what it says, without its checksum, or None where it is damaged. problem: why it is, or "".
      sealed: whether the file's lines carry checksums.
    """

    number: int
    row: dict[str, Any] | None
    problem: str
    sealed: bool


def seal(data: dict[str, Any]) -> dict[str, Any]:
    """JSON values with their checksum as the last member."""
    return {**data, _NAME: _checksum(data)}


def unseal(content: bytes | str) -> tuple[dict[str, Any], bool]:
    """The object in a JSON text without its checksum, and whether it had one.

    Raises:
      DamagedError: it is no JSON object, or not the one that was written.
    """
    try:
        data = loads(content)
        if not isinstance(data, dict):
            raise DamagedError("it holds no object")
        if _NAME not in data and not any(isinstance(v, str) and v.startswith(_KIND) for v in data.values()):
            return data, False
        if data.pop(_NAME, None) != _checksum(data):
            raise DamagedError("its checksum is not that of its content")
    except ValueError as error:  # also bytes that are no text
        raise DamagedError(str(error)) from None
    return data, True


def read_lines(content: bytes, *, sealed: bool = False) -> list[Line]:
    """Every line of a file of rows. If one carries a checksum, or with ``sealed``, all must."""
    found = [(number, *_read(text)) for number, text in enumerate(content.split(b"\n"), 1) if text.strip()]
    sealed = sealed or any(has for _, _, has, _ in found)
    lines = []
    for number, row, has, problem in found:
        if sealed and not has and row is not None:
            row, problem = None, "it has lost its checksum"
        lines.append(Line(number, row, problem, sealed))
    return lines


def _read(text: bytes) -> tuple[dict[str, Any] | None, bool, str]:
    try:
        return *unseal(text), ""
    except DamagedError as error:
        return None, False, str(error)


def _checksum(data: dict[str, Any]) -> str:
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return f"{_KIND}{hashlib.sha256(text.encode()).hexdigest()[:16]}"
