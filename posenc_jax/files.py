"""Writing so that nobody ever reads half a file, and locks: for everything that is kept on disk.

What a loss of power leaves. A file system writes contents and names to the disk when it likes and in any order, but for
what `os.fsync` waited for. So a file that replaces another is written in three steps: its content under another name,
waited for; the rename; the directory, waited for. Before the second nobody finds the new name, after it nobody finds
half a content under it, and after the third nobody finds the old file again: what is written next may rely on it. A new
directory is waited for in the one that it lies in.
"""

from __future__ import annotations

import contextlib
import errno
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


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """A new path beside ``path`` for a file to be written at, which takes its place when all went well."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        yield unfinished
        sync(unfinished)
        os.replace(unfinished, path)
        sync(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Returns when the content of a file, or the names in a directory, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot wait for directories
            raise
    finally:
        os.close(handle)


def sync_tree(directory: Path) -> None:
    """`sync` of everything below a directory, of itself, and of its name."""
    for folder, _, names in os.walk(directory, topdown=False):
        for path in (*(Path(folder, name) for name in names), Path(folder)):
            sync(path)
    sync(directory.parent)


def make_directory(directory: Path) -> None:
    """Makes a directory and those above it, where they are missing, and returns when their names are on disk."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync(path.parent)


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
        make_directory(directory)
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
