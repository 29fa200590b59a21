"""The end of a command after an error: one message if the user can fix it, with their own lines of the traceback where
their own code failed, else a traceback.
"""

import argparse
import contextlib
import os
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from posenc_jax.cli import noise
from posenc_jax.cli.screen import OutputError, tell
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.drawing.plain import short
from posenc_jax.extras import MissingExtraError, plain_one
from posenc_jax.files.atomic import unwritable
from posenc_jax.files.user_paths import PathError, full
from posenc_jax.refusals import PASSING, WAYS_OUT, ExitError, exits_as_errors, of_the_system, own_frames, refuse_twice


class UsageError(Exception):
    """The command line, a config file or a directory asks for something impossible; the message says what to do."""


@contextlib.contextmanager
def refusing(about: str = "") -> Iterator[None]:
    """Within, a ValueError of the library is a UsageError, whose message begins with ``about``."""
    try:
        yield
    except ValueError as error:
        raise UsageError(f"{about}{error}") from None


class _Once(argparse.Action):
    """Stores what an option is given, and refuses the option or one of its values a second time."""

    filled: argparse.Namespace | None = None

    def __call__(self, parser: Any, namespace: Any, values: Any, option: str | None = None) -> None:
        if option is not None and self.filled is namespace:
            parser.error(given_twice(self.option_strings[-1]))
        if self.nargs in ("+", "*"):
            with refusing():
                refuse_twice(option or str(self.metavar), values or ())
        self.filled = namespace
        setattr(namespace, self.dest, values)


def given_twice(option: str) -> str:
    """The message for an option that a command line has twice."""
    return f"{short(option)} is given twice, and only one of the two would count: give it once"


class Parser(argparse.ArgumentParser):
    """A parser whose errors are UsageErrors; ``prog`` is "posenc COMMAND". No option is given twice, and descriptions
    keep their lines.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"formatter_class": argparse.RawDescriptionHelpFormatter, **more})
        for name in (None, "store"):
            self.register("action", name, _Once)

    def error(self, message: str) -> NoReturn:
        """Names the command, what is wrong and where its options are explained."""
        said = " ".join(map(short, message.split(" ")))
        raise UsageError(f"{self.prog.removeprefix('posenc ')}: {said}; `{self.prog} --help` explains the options")


def whole(low: int, high: int) -> Callable[[str], int]:
    """The ``type`` of an option that is a whole number from ``low`` to ``high``."""

    def read(word: str) -> int:
        if re.fullmatch(r"-?[0-9]{1,20}", word) is None or not low <= int(word) <= high:
            raise argparse.ArgumentTypeError(f"{short(word)} is no whole number from {low} to {high}: choose one")
        return int(word)

    return read


def as_path(text: str) -> Path:
    """The path that a user names, ~ expanded; UsageError for the empty one, which would be the current folder."""
    if not text.strip():
        raise UsageError(f"{text!r} is no path: name a file or a folder, `.` for this one")
    try:
        return full(text)
    except PathError as error:  # a ValueError, for which argparse has words of its own
        raise UsageError(str(error)) from None


def check_file(option: str, path: Path | None) -> None:
    """UsageError, before anything is computed, where no file can be written."""
    if path is None:
        return
    file = full(path)
    reason = "there is no directory" if not file.absolute().parent.is_dir() else unwritable(file.parent)
    if file.exists() and not file.is_file():
        reason = f"it is a {'directory' if file.is_dir() else 'device or a pipe'}"
    if reason:
        raise UsageError(f"{option} {path}: {reason}: name another file")


def guarded(work: Callable[[], int | None]) -> int:
    """Runs ``work`` and gives its exit code, None being 0: 2 for what was refused, 1 for what failed, 128 + signal when
    stopped.
    """
    with noise.captured() as said:
        code, message = _outcome(work)
    if where := noise.filed(said.getvalue()):
        where = f"messages of libraries: {where}"
    if message:
        tell(f"posenc: {_bounded(message)}{where and f' ({where})'}")
    elif where:
        tell(f"posenc: {where}")
    return code


def _bounded(message: str) -> str:
    """A message that may repeat names of others, however long they are."""
    lines = (" ".join(short(word, 1000) for word in line.split(" ")) for line in message.split("\n"))
    return "\n".join(short(line, 4000) for line in lines)


def _outcome(work: Callable[[], int | None]) -> tuple[int, str]:
    """Exit code and message. Lines of the user's own code in a traceback are printed; an error that is neither theirs
    nor known here is raised again.
    """
    try:
        with exits_as_errors():
            return work() or 0, ""
    except (UsageError, DataError, MissingExtraError, PathError) as error:
        return 2, str(error)
    except (BrokenPipeError, OutputError):
        raise
    except Exception as error:
        if isinstance(error, ExitError) and not own_frames(error):  # as of a help: nothing else is imported
            return _of_an_exit(error)
        from posenc_jax.encodings.interface.value import WrongReturnError
        from posenc_jax.runs.errors import CheckpointError, FailedCellsError, RefusedError, SaveError, StoppedError

        if isinstance(error, (RefusedError, CheckpointError, WrongReturnError)):
            return 2, str(error)
        if isinstance(error, StoppedError):
            return 128 + error.signal, f"{error}. Run the same command again to go on."
        if isinstance(error, (FailedCellsError, SaveError)):
            return 1, str(error)
        if isinstance(error, ModuleNotFoundError) and (said := plain_one(error)) is not None:
            return 2, said
        if isinstance(error, RuntimeError) and str(error).startswith("Unable to initialize backend"):
            return 2, str(error)
        if isinstance(refused := of_the_system(error) or error, OSError):
            return 1 if refused.errno in PASSING else 2, in_words(refused)
        if (found := own_error(error)) is not None:
            line, trace = found.args
            tell(trace, end="")
            return 1, line
        if isinstance(error, NotImplementedError) and not str(error):  # of a base class of ours
            frame, _ = list(traceback.walk_tb(error.__traceback__))[-1]
            return 1, f"{type(frame.f_locals.get('self')).__name__} has no {frame.f_code.co_name}: write it"
        raise


def _of_an_exit(error: ExitError) -> tuple[int, str]:
    """Exit code and message for a `SystemExit`: from a parser, which has already printed, or from other code."""
    frame, line = list(traceback.walk_tb(error.__traceback__))[-1]
    code = getattr(error.raised, "code", None)
    if frame.f_globals.get("__name__", "").partition(".")[0] in ("argparse", "tyro"):
        return (code if isinstance(code, int) else 2), ""
    return 1, f"{frame.f_code.co_filename}, line {line}, would end the program ({first_line(error)})"


def in_words(error: OSError) -> str:
    """The file, why, and the way out.

    >>> in_words(OSError(28, "No space left on device", "/a/b"))
    '/a/b cannot be read or written (No space left on device): make room, then run the same command again to go on'
    """
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes | os.PathLike) else "a file"
    reason = error.strerror or short(str(error)) or type(error).__name__
    again = "then run the same command again to go on"
    way_out = WAYS_OUT.get(error.errno or 0, "mend that")
    again = f", {again}" if error.errno in PASSING or way_out == "mend that" else ""
    return f"{short(name)} cannot be read or written ({reason}): {way_out}{again}"


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
    """The error as one of the user's own code, or None where no file took part in it that a command line named: with
    the traceback from the first line of such a file on.
    """
    if isinstance(error, OwnCodeError):
        return error
    if not (frames := own_frames(error)):
        return None
    every = list(traceback.walk_tb(error.__traceback__))
    summary = traceback.StackSummary.extract(iter(every[every.index(frames[0]) :]))
    trace = "".join(["Traceback (most recent call last):\n", *summary.format(), first_line(error), "\n"])
    frame, line = frames[-1]
    where = f"{Path(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"
    return OwnCodeError(f"{where} failed ({first_line(error)}): mend it, then run the same command again", trace)
