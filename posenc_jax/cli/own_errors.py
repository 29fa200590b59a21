"""Messages for errors in the user's own code: its own lines of the traceback, and one line that describes them."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path
from types import FrameType, FunctionType

from posenc_jax.drawing.plain import short
from posenc_jax.own_exits import ExitError, is_own, own_frames


class OwnCodeError(Exception):
    """The user's own code failed: ``args`` are the message, of one line, and the traceback of the user's own lines."""


def first_line(error: BaseException) -> str:
    """The type of an error and the first line of what it says.

    >>> first_line(RuntimeError("no such thing\\nand more"))
    'RuntimeError: no such thing'
    """
    said = str(error).strip().splitlines()
    if isinstance(error, ExitError):
        return short(said[0])
    return short(f"{type(error).__name__}: {said[0]}" if said else type(error).__name__)


def own_error(error: Exception) -> OwnCodeError | None:
    """The error as one of the user's own code, or None where no file took part in it that a command line named."""
    if isinstance(error, OwnCodeError):
        return error
    if isinstance(error, NotImplementedError) and (lacking := _lacking(error)):
        return OwnCodeError(lacking, "")
    frames = _frames(error)
    if isinstance(error, TypeError) and (called := _called(error)):
        return OwnCodeError(f"{called} (it is called with other arguments): write it as its base class has it", "")
    if not frames:
        return _called_back(error)
    summary = traceback.StackSummary.extract(iter(frames))
    trace = "".join(["Traceback (most recent call last):\n", *summary.format(), first_line(error), "\n"])
    last = summary[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"
    return OwnCodeError(f"{where} failed ({first_line(error)}): mend it, then run the same command again", trace)


def _called_back(error: Exception) -> OwnCodeError | None:
    """The error of a function of the user's that a compiled program called: its traceback is a text in that of JAX."""
    own = filter(is_own, list(sys.modules.values()))
    files = {str(getattr(module, "__file__", "")) for module in own}
    found = re.findall(r'^  File "(.+)", line (\d+), in (.+)$', str(error), re.MULTILINE)
    lines = [f"{Path(file).name}, line {line}, in {name}" for file, line, name in found if file in files]
    if not lines:
        return None
    said = short(next((line for line in reversed(str(error).strip().splitlines()) if line[:1].strip()), ""))
    return OwnCodeError(f"{lines[-1]} failed ({said}): mend it, then run the same command again", "")


def _lacking(error: NotImplementedError) -> str:
    """A message for a method of our base class that the user's class lacks; "" for other errors."""
    frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    cls, method = type(frame.f_locals.get("self")), frame.f_code.co_name
    module = sys.modules.get(cls.__module__)
    if frame in dict(_frames(error)) or not is_own(module):
        return ""
    file = Path(str(getattr(module, "__file__", ""))).name
    return f"{file}:{cls.__qualname__} has no {method} of its own, which is asked for: write it in the class"


def _called(error: TypeError) -> str:
    """A message for a user's function that we called with arguments that it does not take; "" for other errors."""
    frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
    said = first_line(error)
    name = re.match(r"TypeError: ([\w.]+)\(\) (?:missing|takes|got) ", said)
    if name is None or frame in dict(_frames(error)):
        return ""
    for module in filter(is_own, list(sys.modules.values())):
        found: object = module
        for part in name[1].split("."):
            found = getattr(found, part, None)
        if isinstance(found, FunctionType) and found.__module__ == module.__name__:
            file, line = Path(found.__code__.co_filename).name, found.__code__.co_firstlineno
            return f"{file}, line {line}: {said.removeprefix('TypeError: ')}"
    return ""


def _frames(error: Exception) -> list[tuple[FrameType, int]]:
    """The `own_frames` that have lines to show: not what a dataclass writes of itself, as __init__."""
    return [(frame, line) for frame, line in own_frames(error) if not frame.f_code.co_filename.startswith("<")]
