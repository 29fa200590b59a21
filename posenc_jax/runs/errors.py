"""Errors that stop a run, each with a message that says what to do."""

from __future__ import annotations

from pathlib import Path


class RefusedError(ValueError):
    """The directory belongs to something else, is in use, or lacks something."""


class DamagedFileError(RefusedError):
    """A file is not what was written; the message says why, and the way out."""

    def __init__(self, path: Path, reason: str, way_out: str) -> None:
        super().__init__(f"{path} is damaged ({reason}): {way_out}")
        self.path = path
        self.reason = reason
        self.way_out = way_out

    def __reduce__(self) -> tuple[type[DamagedFileError], tuple[Path, str, str]]:  # it is sent to other processes
        return type(self), (self.path, self.reason, self.way_out)


class StoppedError(Exception):
    """A signal asked to stop; everything up to a step is saved."""

    def __init__(self, signal: int, where: str) -> None:
        super().__init__(where)
        self.signal = signal

    def __reduce__(self) -> tuple[type[StoppedError], tuple[int, str]]:  # it is sent to other processes
        return type(self), (self.signal, str(self))


class FailedCellsError(Exception):
    """Some cells failed, the others are complete; the message lists them."""


class CheckpointError(ValueError):
    """A directory has no checkpoint that can be used."""


class SaveError(Exception):
    """A checkpoint could not be written; those before it are whole."""
