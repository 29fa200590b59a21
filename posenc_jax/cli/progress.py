"""Progress of commands: a live display on a terminal, lines in a log."""

import os
import sys
import time
from pathlib import Path
from typing import Any, Self

from posenc_jax.cli.screen import tell
from posenc_jax.drawing.plain import plain, short
from posenc_jax.runs.reporter import Reporter

LOG_EVERY = 30.0
"""Seconds between two lines about the same piece of work where there is no live display."""
_SHARE = 0.05
"""The share of an ablation's time that writing its pages may take."""


class TerminalReporter(Reporter):
    """Live lines on a terminal; elsewhere a line now and then, and one when a piece of work ends. Use as a context
    manager.
    """

    _cells: Any = None
    _task: Any = None
    _work = _unit = _text = _where = ""
    _total = _done = _start = 0
    _begun: float | None = None
    _logged = 0.0

    def __init__(self) -> None:
        self._live = _live()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        if self._live is not None:
            self._live.stop()

    def note(self, text: str) -> None:
        """A line that stays, above the live ones."""
        if self._live is None:
            tell(text)
        else:
            self._live.console.print(plain(text), markup=False, highlight=False, soft_wrap=True)

    def cell(self, text: str, number: int, total: int) -> None:
        """The first live line."""
        self._end()
        self._where = f"cell {number + 1} of {total}"
        if self._live is None:
            self.note(f"{self._where}{' (one encoding on one task)' * (number == 0)}: {text}")
        elif self._cells is None:
            self._cells = self._live.add_task(plain(text), total=total, completed=number, text=", cells")
        else:
            self._live.update(self._cells, description=plain(text), completed=number)

    def phase(self, text: str, total: int = 0, done: int = 0, unit: str = "steps") -> None:
        """The second live line; its clock begins with the first `advance`, since it may compile before."""
        self._end()
        self._work, self._unit, self._total, self._done, self._start = plain(text), unit, total, done, done
        self._begun, self._text, self._logged = None, "", time.monotonic()
        if self._live is not None:
            line: dict[str, Any] = {"total": total or None, "completed": done, "text": f", {unit}" * bool(total)}
            self._task = self._live.add_task(self._work, start=False, **line)

    def advance(self, amount: int, text: str = "") -> None:
        """Moves the second live line."""
        now = time.monotonic()
        if self._begun is None:
            self._begun = now if not amount else self._logged
        self._done, self._text = self._done + amount, plain(text)
        if self._live is not None:
            self._live.start_task(self._task)
            self._live.update(self._task, advance=amount, text=f", {self._unit} {self._text}")
        elif now - self._logged > LOG_EVERY:
            self._logged = now
            self.note(", ".join(filter(None, (self._where, f"{self._work}: {self._so_far(now)}", text))))

    def _so_far(self, now: float) -> str:
        counts, worked = self._done - self._start, now - (self._begun or now)
        if not self._total or not counts or not worked:
            return f"{self._done} {self._unit}"
        left = round((self._total - self._done) * worked / counts)
        return f"{self._done}/{self._total} {self._unit}, {counts / worked:.3g}/s, {left} s left"

    def _end(self) -> None:
        if self._task is not None:
            self._live.remove_task(self._task)
            self._task = None
        if self._begun is not None and self._done > self._start:
            seconds = time.monotonic() - self._begun
            count, steps = self._done - self._start, self._unit == "steps" and seconds > 0
            line = f"{self._work}: {count} {self._unit[: -1 if count == 1 else None]} in {seconds:.1f} s"
            self.note(line + (f" ({count / seconds:.3g}/s), {self._text}".rstrip(", ") if steps else ""))
        self._begun = None


def _live() -> Any:
    """Rich's display on a terminal; else None. A command that a notebook started has one without a moving cursor."""
    if sys.stderr is None or not sys.stderr.isatty() or "JPY_PARENT_PID" in os.environ:
        return None
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Count(MofNCompleteColumn):
        def render(self, task: Any) -> Any:
            return super().render(task) if task.total else Text()

    console = Console(stderr=True)
    text = TextColumn("{task.description}{task.fields[text]}", markup=False)
    columns = (BarColumn(20), Count(), TimeRemainingColumn(), text)
    progress = Progress(*columns, console=console, transient=True, speed_estimate_period=3600)
    return None if console.is_dumb_terminal else progress


class AblationReporter(TerminalReporter):
    """Progress of an ablation. It writes the page as cells end: after the first, then as often as its time allows."""

    _due = 0.0

    def recorded(self, directory: Path) -> None:
        """Writes the page of the finished cells; an error is reported, and the next page comes later."""
        from posenc_jax.results.report import build_page

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
