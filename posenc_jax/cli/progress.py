"""Progress of commands."""

import time
from pathlib import Path

from posenc_jax.cli.screen import tell
from posenc_jax.drawing.plain import short
from posenc_jax.runs.progress import ProgressReporter

_SHARE = 0.05
"""The share of an ablation's time that writing its pages may take."""


class TerminalReporter(ProgressReporter):
    """Progress of a command, which reports a closed standard error in words."""

    def say(self, text: str) -> None:
        """Prints a line where nothing is live."""
        tell(text)


class AblationReporter(TerminalReporter):
    """Progress of an ablation. It writes the page as cells end: after the first, then as often as its time allows."""

    def __init__(self) -> None:
        super().__init__()
        self._due = 0.0

    def recorded(self, directory: Path) -> None:
        """Writes the page of the finished cells; an error is reported, and the next page comes later."""
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
                self.note(f"{short(str(page))}: the first curves; it is rewritten as cells finish")
