"""Writing so that nobody ever reads half a file, and locks: for everything that is kept on disk."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

_UNFINISHED = ".unfinished"


class HeldError(Exception):
    """Somebody else holds the lock; the message is who."""


class LockingError(Exception):
    """A directory cannot be made or held; the message is why."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes by rename: the file is the old one or the new one, never a part, whoever else writes it."""
    data = content.encode() if isinstance(content, str) else content
    with replaced(path) as unfinished, unfinished.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A new path beside ``path`` for a file to be written at, which takes its place when all went well."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_changed(path: Path, content: str) -> None:
    """`write_atomically`, unless the file has this content already."""
    if not path.exists() or path.read_bytes() != content.encode():
        write_atomically(path, content)


def remove_unfinished(directory: Path) -> None:
    """Removes what killed writers left in a directory that this process holds."""
    for path in directory.glob(f"*{_UNFINISHED}"):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def held(directory: Path, *, wait: Callable[[str], None] | None = None) -> Iterator[None]:
    """Makes a directory and holds it for this process; the lock dies with the process, whatever kills it.

    wait: hears who holds it, and then it is waited for; without, somebody else's hold is a `HeldError`.
    """
    from filelock import FileLock, Timeout

    lock, holder = FileLock(directory / "lock"), directory / "holder"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        who = _holder(holder)
        if wait is None:
            raise HeldError(who) from None
        wait(who)
        lock.acquire()
    except OSError as error:
        raise LockingError(error.strerror or str(error)) from None
    try:
        remove_unfinished(directory)
        with contextlib.suppress(OSError):  # it only informs others
            write_atomically(holder, f"{os.getpid()}\n")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _holder(file: Path) -> str:
    try:
        return f"process {file.read_text().strip()}"
    except OSError:
        return "another process"
