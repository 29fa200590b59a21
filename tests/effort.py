"""The effort of code as a count of calls, which is the same on a busy machine."""

from __future__ import annotations

import contextlib
import cProfile
from collections.abc import Iterator


class Effort:
    """What `counted` counts: calls of functions, those written in C too."""

    calls = 0


@contextlib.contextmanager
def counted() -> Iterator[Effort]:
    """The calls of this thread inside the block, known after it."""
    effort, profile = Effort(), cProfile.Profile()
    profile.enable()
    try:
        yield effort
    finally:
        profile.disable()
        effort.calls = sum(entry.callcount for entry in profile.getstats())
