"""Writing so that nobody ever reads half a file, and locks: for everything that is kept on disk.

What a loss of power leaves. A file system writes contents and names to the disk when it likes and in any order, but for
what `os.fsync` waited for. So a file that replaces another is written in three steps: its content under another name,
waited for; the rename; the directory, waited for. Before the second nobody finds the new name, after it nobody finds
half a content under it, and after the third nobody finds the old file again: what is written next may rely on it. A new
directory is waited for in the one that it lies in.
"""

import contextlib
import errno
import os
import platform
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

_UNFINISHED = ".unfinished"


class HeldError(Exception):
    """Somebody else holds the lock; the message is who."""


class LockingError(Exception):
    """A directory cannot be made or held; the message is why."""


class LinkError(OSError):
    """A link stands where a directory or a file of ours should; the message is which."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.ELOOP, "it is a link, and what we keep is not written through links", str(path))


class DiskFullError(OSError):
    """A file finds no room; the message is how much it needs and how much there is."""

    def __init__(self, error: OSError, path: Path, size: int) -> None:
        free = shutil.disk_usage(path.parent).free
        missing = f", {size - free:,} are missing" if size > free else ""
        super().__init__(
            error.errno, f"{error.strerror}: it needs {size:,} bytes, {free:,} are free{missing}", str(path)
        )


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_FOLLOWING = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def write_atomically(path: Path, content: str | bytes) -> None:
    """Writes by rename: the file is the old one or the new one, never a part, whoever else writes it.

    Raises:
      DiskFullError: there is no room for it; the old file is as it was.
    """
    data = content.encode() if isinstance(content, str) else content
    with _room_for(path, len(data)), replaced(path) as file:
        file.write(data)


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A new file to write, under a name that nobody can foresee, which is renamed to ``path`` if all went well. OSError
    for a device, which nobody wants replaced.
    """
    if path.is_char_device() or path.is_block_device():
        raise OSError(errno.EINVAL, "it is a device, and would be replaced by a file", str(path))
    unfinished = path.parent / f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}{_UNFINISHED}"  # "." has no name
    try:
        with _naming(path):
            file = open(unfinished, "xb")  # noqa: SIM115  (closed below)
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _naming(path):
            os.replace(unfinished, path)
        sync(path.parent)
    finally:
        unfinished.unlink(missing_ok=True)


def unwritable(directory: Path) -> str | None:
    """The reason why no file can be made in a directory, or in one that is still to be made; None where one can.

    It is tried in the nearest one that is there: permissions do not tell it of a file system like /proc, or of root.
    """
    there = _nearest(directory)
    if not there.is_dir():
        return f"{there} is no directory"
    try:
        handle, name = tempfile.mkstemp(suffix=_UNFINISHED, dir=there)
        os.close(handle)
        Path(name).unlink(missing_ok=True)  # who holds the directory may have removed it
    except OSError as error:
        return f"no file can be made in {there} ({error.strerror})"
    return None


def _nearest(directory: Path) -> Path:
    """The directory, or the nearest above it that is there."""
    return next(path for path in (directory.absolute(), *directory.absolute().parents) if path.exists())


def unusable(directory: Path, needed: int = 0) -> str | None:
    """The reason why a directory cannot be made or written in, or has no room for ``needed`` bytes, with the way out;
    None where it can.
    """
    if reason := unwritable(directory):
        return f"cannot write in {directory} ({reason}): choose another directory"
    if needed > (free := shutil.disk_usage(_nearest(directory)).free):
        return f"{directory} needs {needed:,} bytes, and {free:,} are free: make room, or choose another directory"
    return None


def not_new(directory: Path, needed: int = 0) -> str | None:
    """Like `unusable`, for a directory that must not exist yet."""
    if directory.exists():
        return f"{directory} exists: choose another directory, or remove it"
    return unusable(directory, needed)


@contextlib.contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """A folder to fill, which becomes ``path`` if all went well; only with ``replace`` where a filled one is there.

    It lies in a hidden folder beside ``path``, which one process holds; what killed ones left in it goes first.

    Raises:
      OSError: another process holds it, or has made ``path`` meanwhile.
    """
    home = path.with_name(f".{path.name}.preparing")
    new, old = home / "new", home / "old"
    try:
        with _naming(path):
            make_directory(home)
        with held(home):
            try:
                for left in (new, old):
                    shutil.rmtree(left, ignore_errors=True)
                new.mkdir()
                yield new
                sync_tree(new)
                if replace and path.exists():
                    path.rename(old)
                with _naming(path):
                    new.rename(path)
                sync(path.parent)
            finally:
                for left in (new, old, home):  # the lock last: then another process may make the next one there
                    shutil.rmtree(left, ignore_errors=True)
    except (HeldError, LockingError) as error:
        why = f"{error} is making it" if isinstance(error, HeldError) else str(error)
        raise OSError(errno.EBUSY, why, str(path)) from None


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Within, an OSError is of the path that was asked for."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def append(path: Path, text: str, *, wait: bool = True) -> None:
    """Appends to a file of ours, made if missing, and returns when text and name are on disk (or without `wait`, when
    the system has them); follows no link.

    Raises:
      LinkError: there is a link, a pipe or a device.
      DiskFullError: there is no room; a part may have been written.
    """
    data, new = text.encode(), not path.exists()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_FOLLOWING, 0o666)
    except OSError as error:
        raise (LinkError(path) if error.errno in (errno.ELOOP, errno.ENXIO) else error) from None
    with _room_for(path, len(data)), open(handle, "wb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise LinkError(path)
        file.write(data)
        file.flush()
        if wait:
            os.fsync(handle)
    if new and wait:
        sync(path.parent)


def refuse_links(root: Path, inner: Path) -> None:
    """LinkError when a directory on the way from ``root``, which may be one, to ``inner`` is a link."""
    for path in (inner, *inner.parents):
        if path == root:
            return
        if path.is_symlink():
            raise LinkError(path)


def read_regular(path: Path, limit: int | None = None, *, first: int = -1) -> bytes:
    """The bytes of a file, all or the ``first``; OSError for a directory, for a pipe, a socket or a device, which never
    end, and above ``limit`` bytes.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        found = os.fstat(handle)
        if stat.S_ISDIR(found.st_mode):
            raise OSError(errno.EISDIR, "it is a directory", str(path))
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if limit is not None and found.st_size > limit:
            raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes", str(path))
        with open(handle, "rb", closefd=False) as file:
            return file.read(first)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _room_for(path: Path, size: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL and not isinstance(error, DiskFullError):
            raise DiskFullError(error, path, size) from None
        raise


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


def sync_new(path: Path) -> None:
    """`sync` of a file that may have been made just now, and of its name."""
    sync(path)
    sync(path.parent)


def sync_tree(directory: Path) -> None:
    """`sync` of everything below a directory, and of itself; not of its name."""
    for folder, _, names in os.walk(directory, topdown=False):
        for path in (*(Path(folder, name) for name in names), Path(folder)):
            sync(path)


def make_directory(directory: Path) -> None:
    """Makes a directory and those above it, where they are missing, and returns when their names are on disk."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for path in missing:
        sync(path.parent)


def write_changed(path: Path, content: str) -> None:
    """`write_atomically`, unless the file has this content already."""
    data = content.encode()
    if not path.is_file() or path.stat().st_size != len(data) or path.read_bytes() != data:
        write_atomically(path, data)


def remove_unfinished(directory: Path) -> None:
    """Removes what killed writers left in a directory that this process holds."""
    for path in directory.glob(f"*{_UNFINISHED}"):
        with contextlib.suppress(OSError):  # a directory is not ours
            path.unlink()


@contextlib.contextmanager
def held(
    directory: Path, *, wait: Callable[[str], None] | None = None, meanwhile: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Makes a directory and holds it for this process; the lock dies with the process, whatever kills it.

    Args:
      wait: hears who holds it, and then it is waited for; without, somebody else's hold is a `HeldError`.
      meanwhile: called every second of waiting; what it raises ends the waiting.
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
        while not lock.is_locked:
            meanwhile()
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=1)
    except OSError as error:
        link = f"{directory / 'lock'} is a link, which is not followed" if (directory / "lock").is_symlink() else ""
        raise LockingError(link or error.strerror or str(error)) from None
    try:
        remove_unfinished(directory)
        with contextlib.suppress(OSError):  # it only informs others
            write_atomically(holder, f"{os.getpid()} {platform.node()}\n")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _holder(file: Path) -> str:
    try:
        number, _, host = read_regular(file, 400).decode().strip().partition(" ")
        return f"process {int(number)}" + (f" of {host}" if host not in ("", platform.node()) else "")
    except (OSError, ValueError):
        return "another process"
