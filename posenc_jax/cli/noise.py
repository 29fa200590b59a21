"""Output of libraries that fail: kept in a file, so that a command can report the error in one line."""

import contextlib
import io
import logging
import re
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from posenc_jax.cli.screen import tell
from posenc_jax.drawing.plain import short

_LOUD = ("absl", "asyncio", "orbax", "jax._src.callback")  # by their loggers; what threads die of has none
_NOT_KEPT = re.compile(r"^Error (?:reading|writing) persistent compilation cache entry for [^:]*: (.*)", re.DOTALL)


@contextlib.contextmanager
def warnings_named() -> Iterator[None]:
    """Collects warnings of programs that could not be cached, and prints one line at the end; other warnings are shown
    as usual.
    """
    before, not_kept = warnings.showwarning, list[str]()

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if found := _NOT_KEPT.search(str(message)):
            not_kept.append(found[1])
        else:
            before(message, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before
        if not_kept:
            reason = short(not_kept[0])
            tell(f"posenc: compiled programs could not be cached for later runs ({reason}); nothing else is lost")


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Collects log messages of libraries, and errors that end threads."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setLevel(logging.WARNING)
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    for name in _LOUD:
        logging.getLogger(name).addHandler(handler)

    def keep(died: Any) -> None:
        traceback.print_exception(died.exc_type, died.exc_value, died.exc_traceback, file=said)

    threading.excepthook = sys.unraisablehook = keep
    sys.excepthook = lambda *error: traceback.print_exception(*error, file=said)
    try:
        yield said
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
        for name in _LOUD:
            logging.getLogger(name).removeHandler(handler)


def filed(said: str) -> str:
    """Writes the output to a file and returns words with its path that end a message; "" if nothing was written."""
    if not said:
        return ""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="posenc-", suffix=".log", delete=False, errors="replace") as file:
            file.write(said)
    except OSError:
        return ""
    return f" (messages of libraries: {file.name})"
