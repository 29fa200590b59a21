"""Runs code of the user's from its source alone; exits of the program become errors like any other."""

from __future__ import annotations

import contextlib
import importlib.machinery
import traceback
from collections.abc import Iterator
from types import FrameType, ModuleType
from typing import Any


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
    posenc_jax.refusals.own_exits.ExitError: SystemExit: 0
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ExitError(error).with_traceback(error.__traceback__) from None
