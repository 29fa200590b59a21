"""Signals that ask a command to stop: the first is answered in words, the second ends the process.

Python's own handlers wait for the main thread, which a compiled program may keep for hours. Meanwhile a thread hears of
signals by a pipe (`signal.set_wakeup_fd`).
"""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from posenc_jax.cli.screen import OutputError, tell

NUMBERS = (signal.SIGINT, signal.SIGTERM)
TOGETHER = 2.0
"""Seconds within which a signal to terminate is the same request as the one before it: schedulers and parents of a
process that a terminal interrupts send one more.
"""
_END = b"\0"


@contextlib.contextmanager
def answered(handler: Callable[[int, FrameType | None], None], words: str, patience: float = 0.0) -> Iterator[None]:
    """Within, ``handler`` takes both signals as soon as Python runs. ``words`` answer the first, ``patience`` seconds
    after it, and the second ends the process at once, with 128 + its number.

    Only the main thread can have handlers: in others nothing happens.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, told = os.pipe()
    os.set_blocking(told, False)
    answering = threading.Thread(target=_answer, args=(heard, words, patience), daemon=True)
    answering.start()
    pipe = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    before = {number: signal.signal(number, handler) for number in NUMBERS}
    try:
        yield
    finally:
        for number, own in before.items():
            signal.signal(number, own)
        signal.set_wakeup_fd(pipe)
        os.write(told, _END)
        answering.join()
        os.close(heard)
        os.close(told)


def _answer(heard: int, words: str, patience: float) -> None:
    asked: float | None = None
    silent = True
    poll = select.poll()
    poll.register(heard, select.POLLIN)
    while True:
        if not poll.poll(1000 * patience if asked and silent else None):
            silent = False
            with contextlib.suppress(OutputError, BrokenPipeError):
                tell(words)
            continue
        number = os.read(heard, 1)[0]
        if number == _END[0]:
            return
        if number in NUMBERS:
            now = time.monotonic()
            if asked and (number == signal.SIGINT or now - asked > TOGETHER):
                os._exit(128 + number)
            asked = asked or now
