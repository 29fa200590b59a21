"""Progress on the terminal: what is being done, how far, how fast, how long still."""

from __future__ import annotations

import sys
import time
from typing import Any

from posenc_jax.cell import Reporter


class TerminalReporter(Reporter):
    """A live bar on a terminal; on a pipe or in a log one line when a piece of work ends, and notes."""

    def __init__(self) -> None:
        self._progress: Any = None
        self._task: Any = None
        self._begun = time.monotonic()
        self._text = ""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[text]}", style="dim"),
                console=Console(stderr=True),
            )

    def __enter__(self) -> TerminalReporter:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end_phase()
        if self._progress is not None:
            self._progress.stop()

    def note(self, text: str) -> None:
        """A line above the bar."""
        if self._progress is not None:
            self._progress.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)

    def phase(self, text: str, total: int = 0, done: int = 0, unit: str = "steps") -> None:
        """A new bar."""
        self._end_phase()
        self._text, self._unit, self._total, self._done, self._start = text, unit, total, done, done
        self._begun = time.monotonic()
        if self._progress is not None:
            self._task = self._progress.add_task(text, total=total, completed=done, rate="", text="compiling")

    def advance(self, amount: int, text: str = "") -> None:
        """Moves the bar."""
        self._done += amount
        self._last = text
        if self._progress is not None:
            self._progress.update(self._task, advance=amount, rate=self._rate(), text=text)

    def _rate(self) -> str:
        seconds = max(time.monotonic() - self._begun, 1e-9)
        return f"{(self._done - self._start) / seconds:.1f} {self._unit}/s"

    def _end_phase(self) -> None:
        if not self._text:
            return
        if self._progress is not None:
            self._progress.remove_task(self._task)
        if self._done > self._start:
            seconds = time.monotonic() - self._begun
            self.note(f"{self._text}: {self._done} of {self._total} {self._unit} in {seconds:.1f} s ({self._rate()}) {self._last}".rstrip())
        self._text = ""
