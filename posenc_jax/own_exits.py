"""Exits in code of the user's: what would end the program becomes an error like any other."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


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
    posenc_jax.own_exits.ExitError: SystemExit: 0
    """
    try:
        yield
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise ExitError(error).with_traceback(error.__traceback__) from None
