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

_LOUD = ("absl", "asyncio", "orbax", "jax._src.callback")  # by their loggers; what threads die of has none
_NOT_KEPT = re.compile("^Error (?:reading|writing) persistent compilation cache entry")


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Collects log messages of libraries, warnings about the cache of programs, and errors that end threads."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setLevel(logging.WARNING)
    hooks, shown = (threading.excepthook, sys.unraisablehook), warnings.showwarning
    for name in _LOUD:
        logging.getLogger(name).addHandler(handler)

    def keep(died: Any) -> None:
        traceback.print_exception(died.exc_type, died.exc_value, died.exc_traceback, file=said)

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        if _NOT_KEPT.match(str(message)):
            said.write(f"{message}\n")
        else:
            shown(message, *where, **more)

    threading.excepthook = sys.unraisablehook = keep
    warnings.showwarning = show
    try:
        yield said
    finally:
        (threading.excepthook, sys.unraisablehook), warnings.showwarning = hooks, shown
        for name in _LOUD:
            logging.getLogger(name).removeHandler(handler)


def filed(said: str) -> str:
    """Writes the output to a file and returns its path; "" if nothing was written."""
    if not said:
        return ""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="posenc-", suffix=".log", delete=False, errors="replace") as file:
            file.write(said)
    except OSError:
        return ""
    return file.name
