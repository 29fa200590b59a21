"""Output of commands: control characters in foreign text are escaped, and a failed write is an error."""

import contextlib
import os
import shutil
import sys
from typing import Any

from posenc_jax.drawing.plain import plain


class OutputError(Exception):
    """Standard output or standard error takes nothing any more."""


def show(text: object = "", *, end: str = "\n") -> None:
    """Prints a text on standard output; `OutputError` if it cannot be written."""
    _print(sys.stdout, "standard output", text, end)


def columns() -> int:
    """The width of the terminal."""
    return shutil.get_terminal_size((100, 24)).columns


def tell(text: object, *, end: str = "\n") -> None:
    """Prints a text on standard error, at once; `OutputError` where it cannot be written."""
    _print(sys.stderr, "standard error", text, end, flush=True)


def flush() -> None:
    """Has all that was printed written; `OutputError` where it cannot be."""
    for stream, name in ((sys.stdout, "standard output"), (sys.stderr, "standard error")):
        _print(stream, name, "", "", flush=True)


def _print(stream: Any, name: str, text: object, end: str, *, flush: bool = False) -> None:
    try:
        if stream is None:
            raise ValueError("it is closed")
        print(plain(str(text)), end=end, file=stream, flush=flush)
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{name} cannot be written ({reason}): mend that, then run the same command again") from None


def give_up(message: str = "") -> None:
    """Says why a command ends, where it still can, and drops what no stream takes, lest Python try it once more."""
    for say in (tell, show):
        with contextlib.suppress(OutputError, BrokenPipeError):
            if message:
                say(f"posenc: {message}")
            break
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def refuse_closed() -> None:
    """Ends the process if a stream was closed before it began: files that it opens would get the stream's number."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)  # which becomes standard input
    for stream, name, other in ((sys.stdout, "output", 2), (sys.stderr, "error", 1)):
        if stream is None:
            with contextlib.suppress(OSError):
                os.write(other, f"posenc: standard {name} is closed: leave it open, or send it to /dev/null\n".encode())
            os._exit(1)
