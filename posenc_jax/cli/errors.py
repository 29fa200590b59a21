"""How a command ends when something is wrong: one message where a user can mend it, a traceback else."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from posenc_jax.data.corpora.corpus import DataError


class UsageError(Exception):
    """The command line, a config file or a directory asks for something impossible; the message says what to do."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are UsageErrors; ``prog`` is "posenc COMMAND"."""

    def error(self, message: str) -> NoReturn:
        """Names the command, what is wrong and where its options are explained."""
        raise UsageError(f"{self.prog.removeprefix('posenc ')}: {message}; `{self.prog} --help` explains the options")


def at_home(path: Path) -> Path:
    """``path`` with ~ or ~user expanded; UsageError where there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise UsageError(f"{path}: there is no home directory of {path.parts[0]!r}: write the path in full") from None


def place(text: str) -> Path:
    """The path that a user names, ~ expanded; UsageError for the empty one, which would be the current folder."""
    if not text.strip():
        raise UsageError(f"{text!r} names no place: name a file or a folder, `.` for this one")
    return at_home(Path(text))


def guarded(work: Callable[[], int]) -> int:
    """Runs ``work`` and gives its exit code: 2 for what was refused, 1 for what failed, 128 + signal when stopped."""
    try:
        return work()
    except (UsageError, DataError) as error:
        return _refuse(error)
    except SystemExit as error:  # tyro has said what is wrong, or has shown its help
        return error.code if isinstance(error.code, int) else 2
    except Exception as error:
        from posenc_jax.runs.errors import CheckpointError, FailedCellsError, RefusedError, SaveError, StoppedError

        if isinstance(error, (RefusedError, CheckpointError)):
            return _refuse(error)
        if isinstance(error, StoppedError):
            print(f"posenc: {error}. Run the same command again to go on.", file=sys.stderr)
            return 128 + error.signal
        if isinstance(error, (FailedCellsError, SaveError)):
            print(f"posenc: {error}", file=sys.stderr)
            return 1
        raise


def _refuse(error: Exception) -> int:
    print(f"posenc: {error}", file=sys.stderr)
    return 2
