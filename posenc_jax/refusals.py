"""Messages of refusals: errors of the system, of names and of the user's code, each in one line; needs no JAX."""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib.machinery
import os
import re
import shutil
import traceback
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """``did you mean 'x'?`` of the nearest known word, or ``otherwise`` where none is near."""
    words = list(known)
    near = [w for w in words if w.lower() == word.lower()] or difflib.get_close_matches(word, words, n=1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def refuse_twice(name: str, values: Iterable[Any], key: Callable[[Any], Any] = lambda value: value) -> None:
    """ValueError where one of the values of ``name`` is there again: it would count double, or be dropped unsaid.

    Args:
      key: what must differ.

    >>> refuse_twice("steps", (4, 8, 4))
    Traceback (most recent call last):
    ValueError: steps: 4 is given twice: name each once
    """
    seen = set()
    for value in values:
        if key(value) in seen:
            raise ValueError(f"{name}: {value} is given twice: name each once")
        seen.add(key(value))


WAYS_OUT = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "let other programs close files",
    errno.EROFS: "name a directory that can be written",
    errno.EBUSY: "wait for it, or name another directory",
    errno.EEXIST: "name another directory",
    errno.ENOTEMPTY: "name another directory",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EACCES: "change its permissions, or name another directory",
    errno.EPERM: "change its permissions, or name another directory",
    errno.ELOOP: "replace it by a file or a directory",
}
PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
"""After these the same command can go on, once the way out was taken."""

_WORDS = {os.strerror(number): number for number in (*PASSING[:3], errno.EMFILE, errno.ENFILE, errno.EROFS)}
_PATH = re.compile(r"(?<![\w/])[\w.~-]*/[^\s'\",;:()\[\]]+")


def of_the_system(error: BaseException) -> OSError | None:
    """The OSError behind an error of a library: one in the chain of errors, or one whose text is there, as programs in
    other languages and `shutil.copytree` have it. None unless it is a full disk, a quota, too many open files or a
    read-only file system.
    """
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        seen.append(link)
        if isinstance(link, OSError) and link.errno in _WORDS.values():
            return link
        text = str(link)
        found = next((words for words in _WORDS if words.casefold() in text.casefold()), None)
        if found is not None:
            return OSError(_WORDS[found], found, _place(link, text))
        link = link.__cause__ or link.__context__
    return None


def _place(error: BaseException, text: str) -> str | None:
    """The first file that an error names; of copies the one that was written."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list) and error.args[0]:
        return str(error.args[0][0][1])
    named = _PATH.search(text)
    return named and named[0]


def first_line(error: BaseException) -> str:
    """The beginning of what an error says, or its type where it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def or_else(error: OSError, otherwise: str) -> str:
    """The way out of what the system refuses: of a full disk to make room, before what else can be done.

    >>> or_else(OSError(errno.ENOSPC, ""), "name another file"), or_else(OSError(errno.EISDIR, ""), "name another file")
    ('make room, or name another file', 'name another file')
    """
    way_out = WAYS_OUT.get(error.errno or 0) if error.errno in PASSING else None
    return f"{way_out}, or {otherwise}" if way_out else otherwise


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Loads a file that a command line names, or that a run brought: its source, never bytecode that lies beside it,
    and leaves none.
    """

    def get_code(self, fullname: str) -> Any:
        """The code of the file, compiled from its source."""
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def is_own(module: ModuleType | None) -> bool:
    """True if a module is of a file of the user's, loaded by `SourceLoader`."""
    return isinstance(getattr(module, "__loader__", None), SourceLoader)


def own_frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames and lines of an error that are in files of the user's, but for what a dataclass writes of itself."""
    return [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if isinstance(frame.f_globals.get("__loader__"), SourceLoader) and frame.f_code.co_filename[:1] != "<"
    ]


class ExitError(Exception):
    """Code raised what is no Exception, as sys.exit() does, and would end the program with its work undone."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(f"{type(raised).__name__}: {raised}".removesuffix(": "))
        self.raised = raised

    def __reduce__(self) -> tuple[type[ExitError], tuple[BaseException]]:  # it is sent to other processes
        return type(self), (self.raised,)


@contextlib.contextmanager
def exits_as_errors() -> Iterator[None]:
    """Within, whatever is raised is an Exception, or the KeyboardInterrupt of who wants to stop.

    >>> with exits_as_errors():
    ...     raise SystemExit(0)
    Traceback (most recent call last):
    posenc_jax.refusals.ExitError: SystemExit: 0
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ExitError(error).with_traceback(error.__traceback__) from None
