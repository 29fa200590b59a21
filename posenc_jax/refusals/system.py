"""Errors in one line; those of the operating system, however a library wraps them, and the way out of each."""

import errno
import os
import re
import shutil

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
