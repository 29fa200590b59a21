"""Runs code of the user's from its source alone; exits of the program become errors like any other."""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any, NoReturn


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
    """The frames and lines of an error that are in files of the user's."""
    frames = traceback.walk_tb(error.__traceback__)
    return [(frame, line) for frame, line in frames if isinstance(frame.f_globals.get("__loader__"), SourceLoader)]


def said_by(error: BaseException) -> str:
    """The message of an error; an exception of the user's may have a ``__str__`` that fails."""
    try:
        return str(error).strip()
    except Exception as failed:
        return f"its __str__ fails with {type(failed).__name__}"


class ExitError(Exception):
    """Code raised what is no Exception, as sys.exit() does, and would end the program with its work undone."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(f"{type(raised).__name__}: {said_by(raised)}".removesuffix(": "))
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


def refuse_os_exit() -> None:
    """Makes ``os._exit`` and ``os.exec*`` errors in files of the user's: they would end the process with an exit code
    of their choice.

    For a process of the command line, where an exit code of 0 says that the result is there.
    """
    system = sys.modules[os.open.__module__]  # posix or nt, which has the same functions by other names
    for name in ("_exit", "execv", "execve"):
        refusing = _refused_to_own(getattr(os, name), name, os.getpid())
        setattr(os, name, refusing)
        setattr(system, name, refusing)


def _refused_to_own(leave: Callable[..., NoReturn], name: str, process: int) -> Callable[..., NoReturn]:
    def refusing(*args: Any, **more: Any) -> NoReturn:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals is vars(os):  # os.execvp calls os.execv
            frame = frame.f_back
        asked = frame is not None and isinstance(frame.f_globals.get("__loader__"), SourceLoader)
        if asked and os.getpid() == process:  # a child that the user's code forked may end as it likes
            raise ExitError(SystemExit(*args) if name == "_exit" else SystemExit(f"os.{name}"))
        leave(*args, **more)

    return refusing
