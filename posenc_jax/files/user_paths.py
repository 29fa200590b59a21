"""Paths as people write them, in options, fields of configs and variables of the environment, and as they are used."""

import os
from pathlib import Path

VARIABLES = ("POSENC_DATA", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "JAX_COMPILATION_CACHE_DIR", "MPLCONFIGDIR", "TMPDIR")
"""The variables by which we, or libraries that we use, are told where files go."""


class PathError(ValueError):
    """A path that no file can have; the message says why, and the way out."""


def full(path: str | os.PathLike[str], named: str = "") -> Path:
    """The path with ``~`` and ``~user`` expanded.

    Args:
      named: where it was read, for the message ("POSENC_DATA").

    Raises:
      PathError: there is no such user, or the name is no text, so that no file could keep it.
    """
    said = f"{named} = {path}" if named else str(path)
    if not is_text(str(path)):
        raise PathError(f"{said} {NO_TEXT}")
    try:
        found = Path(path).expanduser()
    except RuntimeError:
        user = repr(Path(path).parts[0])
        raise PathError(f"{said}: there is no home directory of {user}: write the path in full") from None
    if not found.is_absolute() and not is_text(here := _here()):
        raise PathError(f"{said} lies in {here}, which {NO_TEXT.partition(': ')[0]}: go to another folder")
    return found


def real(path: str | os.PathLike[str]) -> Path:
    """The absolute path without links. Of a link to itself, for which `Path.resolve` raises on Python up to 3.12, it is
    the link.
    """
    return Path(os.path.realpath(path))


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone, which whoever uses a path of it will say
        return ""


NO_TEXT = "has bytes that are no text in UTF-8, and no file could keep it: write it in UTF-8"


def is_text(text: str) -> bool:
    """True if a file in UTF-8 can hold the text, which excludes bytes of another encoding in a command line."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def from_environment(variable: str) -> Path | None:
    """The path that a variable of the environment holds; None where it is unset or empty. PathError as `full`."""
    value = os.environ.get(variable)
    return full(value, variable) if value else None


def cache_directory() -> Path:
    """The directory of this user's caches: $XDG_CACHE_HOME, else ~/.cache."""
    return from_environment("XDG_CACHE_HOME") or full("~/.cache")
