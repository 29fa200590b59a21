"""Output of libraries that fail: kept in a file, so that a command can report the error in one line."""

import contextlib
import io
import logging
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator
from typing import Any

_LOUD = ("absl", "asyncio", "orbax", "jax._src.callback")  # by their loggers; what threads die of has none


@contextlib.contextmanager
def captured() -> Iterator[io.StringIO]:
    """Collects log messages of libraries, and errors that end threads."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setLevel(logging.WARNING)
    hooks = threading.excepthook, sys.unraisablehook
    for name in _LOUD:
        logging.getLogger(name).addHandler(handler)

    def keep(died: Any) -> None:
        traceback.print_exception(died.exc_type, died.exc_value, died.exc_traceback, file=said)

    threading.excepthook = sys.unraisablehook = keep
    try:
        yield said
    finally:
        threading.excepthook, sys.unraisablehook = hooks
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
