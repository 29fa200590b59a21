"""A disk that loses what was not waited for: the states in which a loss of power could leave a directory.

Contents and names reach a disk on their own and in any order; only `os.fsync` waits, of a file for its content, of a
directory for the names in it. While a `Disk` watches, every moment at which something is waited for, renamed or removed
is kept: what there is, and what of it would be there in any case.
"""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

State = dict[str, bytes | None]
"""Path -> content, or None for a directory."""
LOSSES = {
    "all that was not waited for": ("kept", "kept"),
    "contents, which are empty": ("there", "kept"),
    "contents, of which a half is there": ("there", "half"),
    "names": ("kept", "there"),
}


class Disk:
    """Watches a directory through the functions of `os`; use with a monkeypatch."""

    def __init__(self, root: Path, patch) -> None:
        self.root = root
        self.states: list[tuple[str, State]] = []
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self._pinned: list[int] = []  # else the number of a removed file would be given to another
        self._lock = threading.RLock()
        self._known: set[tuple[str, int]] = set()
        self._read: dict[tuple[int, int, int], bytes] = {}
        waits = os.fsync

        def fsync(handle) -> None:
            with self._lock:
                self._moment()
                waits(handle)
                self._waited_for(handle if isinstance(handle, int) else handle.fileno())

        patch.setattr(os, "fsync", fsync)
        for name in ("rename", "replace", "rmdir"):
            patch.setattr(os, name, self._watched(getattr(os, name)))

    def close(self) -> None:
        """Keeps the last moment, and lets go of the files."""
        self._moment()
        for handle in self._pinned:
            os.close(handle)

    def _watched(self, function):
        def call(*arguments, **options):
            with self._lock:
                self._moment()
                function(*arguments, **options)

        return call

    def _waited_for(self, handle: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if not path.is_relative_to(self.root):
            return
        found = os.fstat(handle)
        self._pinned.append(os.dup(handle))
        if stat.S_ISDIR(found.st_mode):
            self._names[found.st_ino] = {entry.name: entry.inode() for entry in os.scandir(path)}
            for entry in os.scandir(path):
                self._pinned.append(os.open(entry.path, os.O_RDONLY))
        else:
            self._contents[found.st_ino] = path.read_bytes()

    def _moment(self) -> None:
        directories: dict[int, dict[str, int]] = {}
        contents: dict[int, bytes] = {}
        for folder, _, files in os.walk(self.root):
            try:
                directories[os.stat(folder).st_ino] = {e.name: e.inode() for e in os.scandir(folder)}
                contents |= dict(self._content(Path(folder, name)) for name in files)
            except FileNotFoundError:  # a thread of Orbax moves its own unfinished files
                continue
        for loss, (names, kept) in LOSSES.items():
            state = dict(self._left(os.stat(self.root).st_ino, "", directories, contents, names, kept))
            if (found := (loss, hash(frozenset(state.items())))) not in self._known:
                self._known.add(found)
                self.states.append((loss, state))

    def _content(self, path: Path) -> tuple[int, bytes]:
        found = path.stat()
        key = (found.st_ino, found.st_mtime_ns, found.st_size)
        if key not in self._read:
            self._read[key] = path.read_bytes()
        return found.st_ino, self._read[key]

    def _left(self, directory: int, place: str, directories, contents, names: str, kept: str):
        entries = self._names.get(directory, {}) if names == "kept" else directories[directory]
        for name, number in entries.items():
            path = f"{place}{name}"
            if number in directories or number in self._names:
                yield path, None
                if names == "kept" or number in directories:
                    yield from self._left(number, f"{path}/", directories, contents, names, kept)
            elif kept == "there" and number in contents:
                yield path, contents[number]
            elif number in self._contents:
                yield path, self._contents[number]
            else:
                yield path, contents.get(number, b"")[: len(contents.get(number, b"")) // 2 if kept == "half" else 0]


def restore(state: State, place: Path) -> Path:
    """Writes a state as a directory."""
    place.mkdir()
    for path, content in sorted(state.items()):
        if content is None:
            (place / path).mkdir()
        else:
            (place / path).write_bytes(content)
    return place
