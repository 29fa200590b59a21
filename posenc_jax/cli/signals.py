"""Handling of SIGINT and SIGTERM: a command ends with 128 + the signal's number, without a traceback.

While it trains or measures, `session.stoppable` takes them instead.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

NUMBERS = (signal.SIGINT, signal.SIGTERM)
STOPPED = "posenc: stopped"


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """Within, both raise a KeyboardInterrupt with their number, so that what is under way is cleared away."""
    if threading.current_thread() is not threading.main_thread():  # others cannot set handlers
        yield
        return
    before = {number: signal.signal(number, _end) for number in NUMBERS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code of a command that `ending` interrupted."""
    return 128 + (error.args[0] if error.args else signal.SIGINT)


def _end(number: int, frame: FrameType | None) -> None:
    if _importing(frame):  # it may be swallowed there, or become another error; and nothing is there to be saved
        os.write(2, f"{STOPPED}\n".encode())
        os._exit(128 + number)
    raise KeyboardInterrupt(number)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False
