"""Progress of commands."""

import time
from pathlib import Path

from posenc_jax.cli.screen import tell
from posenc_jax.drawing.plain import short
from posenc_jax.runs.progress import ProgressReporter

_SHARE = 0.05
"""Of the time of an ablation, what its pages may take before the last one."""


class TerminalReporter(ProgressReporter):
    """Progress of a command, which ends in words where standard error takes nothing any more."""

    def say(self, text: str) -> None:
        """Prints a line where nothing is live."""
        tell(text)


class AblationReporter(TerminalReporter):
    """Progress of an ablation, whose page is written as cells end: after the first, and when it is worth its time."""

    def __init__(self) -> None:
        super().__init__()
        self._due = 0.0

    def recorded(self, directory: Path) -> None:
        """Writes the page of what is finished. What goes wrong with it is told, and is for the last one to mend."""
        from posenc_jax.report import build_page

        if (begun := time.monotonic()) < self._due:
            return
        first, self._due = not self._due, float("inf")
        try:
            page = build_page(directory)
        except (OSError, ValueError) as error:
            self.note(f"no report yet: {' '.join(str(error).split())}")
            return
        if page is not None:
            now = time.monotonic()
            self._due = now + (now - begun) / _SHARE
            if first:
                self.note(f"{short(str(page))}: the first curves; it is written anew as cells end")
