"""JSON files of runs, and their rows: appended durably, keyed by step and replica, cut back to a checkpoint."""

import contextlib
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.files.atomic import (
    HeldError,
    LockingError,
    append,
    held,
    read_regular,
    sync,
    sync_new,
    write_atomically,
    write_changed,
)
from posenc_jax.files.checksums import DamagedError, Line, read_lines, seal, unseal
from posenc_jax.files.shapes import Json
from posenc_jax.runs.errors import DamagedFileError, RefusedError, StoppedError
from posenc_jax.runs.reporter import Reporter


@contextlib.contextmanager
def locked(
    directory: Path, *, wait: Callable[[str], None] | None = None, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Makes a run's, a group's or an ablation's directory and holds it for this process; RefusedError when it cannot.

    Args:
      wait, meanwhile: as in `held`: without ``wait``, one that is in use is refused.
    """
    try:
        with held(directory, wait=wait, meanwhile=meanwhile):
            yield
    except HeldError as error:
        raise RefusedError(f"{directory} is in use by {error}: wait for it, or choose another directory") from None
    except LockingError as error:
        raise RefusedError(f"cannot write in {directory} ({error}): choose another directory") from None


@contextlib.contextmanager
def in_turn(directory: Path, reporter: Reporter, stop: Callable[[], int | None]) -> Iterator[None]:
    """Holds a directory as soon as nobody else does; StoppedError when ``stop`` asks for it before."""

    def give_up_when_stopped() -> None:
        if (signal := stop()) is not None:
            raise StoppedError(signal, f"stopped while another process was working in {directory}")

    def say(who: str) -> None:
        reporter.note(f"{who} works in {directory}: waiting for it")

    with locked(directory, wait=say, meanwhile=give_up_when_stopped):
        yield


def read_json(path: Path, way_out: str = "") -> Json:
    """The object in a JSON file of ours, without its checksum.

    Args:
      way_out: for the message, what to do where it is damaged.

    Raises:
      DamagedFileError: it is not what was written.
    """
    try:
        return unseal(read_regular(path))
    except DamagedError as error:
        way_out = way_out or f"restore it, or move {path.parent} away to start that part over"
        raise DamagedFileError(path, str(error), way_out) from None


def sealed_text(data: Json) -> str:
    """An object and its checksum as JSON that people read."""
    return json.dumps(seal(json.loads(json.dumps(data))), indent=1) + "\n"


def write_json(path: Path, data: Json) -> None:
    """Writes an object as `sealed_text`, unless the file holds it already."""
    write_changed(path, sealed_text(data))


def dumps(value: Any) -> str:
    """JSON with non-finite numbers as null and floats as the shortest decimal that gives back the same float32."""
    return json.dumps(_clean(value), allow_nan=False)


def sealed_line(row: Json) -> str:
    """An object as one line of `dumps`, with its checksum."""
    return json.dumps(seal(json.loads(dumps(row)))) + "\n"


def numbered(directory: Path) -> list[int]:
    """The numbers that are names of directories in one, ascending; none where it is missing."""
    return sorted(int(path.name) for path in directory.glob("*") if path.name.isdecimal() and path.is_dir())


def put_aside(path: Path) -> Path:
    """Renames what is damaged to ``<name>.bad``, or the first free ``<name>.bad2`` ..., and gives the new path."""
    names = itertools.chain([f"{path.name}.bad"], (f"{path.name}.bad{n}" for n in itertools.count(2)))
    bad = next(name for name in map(path.with_name, names) if not name.exists())
    path.rename(bad)
    sync(bad.parent)
    return bad


def append_rows(path: Path, rows: Iterable[Json]) -> None:
    """Appends a line with a checksum for each row and returns when they are on disk."""
    append(path, "".join(map(sealed_line, rows)))


class Log:
    """The rows of a group's metrics, in the order of their steps: appended, cut back to a checkpoint.

    Rows after the newest checkpoint are written again by who goes on from it, so they are waited for (`sync`) before a
    step gets its name, not one by one. A checkpoint keeps the SHA-256 of all rows so far: those that were lost since,
    or put there, are noticed when training goes on from it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._total = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Digest of the rows so far."""
        return self._total.hexdigest()

    def append(self, rows: Iterable[Json]) -> None:
        """Writes rows; a killed process loses none of them, a loss of power those since `sync`."""
        text = "".join(map(sealed_line, rows))
        append(self.path, text, wait=False)
        self._total.update(text.encode())

    def sync(self) -> None:
        """Returns when the rows are on disk, and the file's name."""
        if self.path.exists():
            sync_new(self.path)

    def cut_back(self, step: int) -> None:
        """Drops the rows after ``step``, so that training on from its checkpoint writes each row once."""
        kept = _whole(self.path, _up_to(self._content(), step))
        content = "".join(map(sealed_line, kept)).encode()
        if self.path.exists():
            write_atomically(self.path, content)
        self._total = hashlib.sha256(content)

    def digest_up_to(self, step: int) -> str:
        """The digest that there was when ``step`` had been written, if nothing was damaged since."""
        content = self._content()
        lines = _up_to(content, step)
        count = lines[-1].number if lines else 0
        return hashlib.sha256(b"".join(line + b"\n" for line in content.split(b"\n")[:count])).hexdigest()

    def digest_of_all(self) -> str:
        """The digest of what is there, whatever it is."""
        return hashlib.sha256(self._content()).hexdigest()

    def problem(self) -> str:
        """The fault of the rows, if their digest differs, in words."""
        damaged = (line for line in read_lines(self._content()) if line.row is None)
        other = "its rows are not those that were written"
        return next((f"line {line.number}: {line.problem}" for line in damaged), other)

    def _content(self) -> bytes:
        return read_regular(self.path) if self.path.exists() else b""


def _up_to(content: bytes, step: int) -> list[Line]:
    """The lines up to ``step``; an unreadable end was being written when the process died."""
    lines = read_lines(content)
    for number, line in enumerate(lines):
        if line.row is not None and not isinstance(line.row.get("step"), int):
            lines[number] = Line(line.number, None, "it has no step")
    count = max((n for n, line in enumerate(lines, 1) if line.row is not None and line.row["step"] <= step), default=0)
    return lines[:count]


def _whole(path: Path, lines: list[Line]) -> list[Json]:
    for line in lines:
        if line.row is None:
            way_out = f"restore it, or move {path.parent} away to train that group again"
            raise DamagedFileError(path, f"line {line.number}: {line.problem}", way_out)
    return [line.row for line in lines if line.row is not None]


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
