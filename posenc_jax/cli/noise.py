"""Output of libraries that fail: kept in a file, so that a command can report the error in one line."""

import contextlib
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
_MOST = 10_000  # messages


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
def captured() -> Iterator[list[str]]:
    """Collects log messages of libraries, and errors that end threads."""
    said: list[str] = []
    handler, root = _Handler(said), logging.getLogger()
    hooks = sys.excepthook, threading.excepthook, sys.unraisablehook
    root.addHandler(handler)
    sys.excepthook = lambda *error: _keep(said, "".join(traceback.format_exception(*error)))
    threading.excepthook = lambda died: _keep(said, _text_of(died))
    sys.unraisablehook = lambda died: _keep(said, _text_of(died))
    try:
        yield said
    finally:
        sys.excepthook, threading.excepthook, sys.unraisablehook = hooks
        root.removeHandler(handler)


def filed(said: list[str]) -> str:
    """Writes the output to a file and returns words with its path that end a message; "" if nothing was written."""
    if not said:
        return ""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="posenc-", suffix=".log", delete=False, errors="replace") as file:
            file.write("\n".join(said))
    except OSError:
        return ""
    return f" (messages of libraries: {file.name})"


class _Handler(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        if f"{record.name}.".startswith(tuple(f"{name}." for name in _LOUD)):
            _keep(self._said, self.format(record))
        elif logging.getLogger().handlers == [self] and logging.lastResort is not None:
            logging.lastResort.handle(record)


def _keep(said: list[str], text: str) -> None:
    if len(said) < _MOST:
        said.append(text)


def _text_of(died: Any) -> str:
    return "".join(traceback.format_exception(died.exc_type, died.exc_value, died.exc_traceback))
