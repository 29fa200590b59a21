"""Progress on the terminal: what is being done, how far, how fast, how long still."""

from __future__ import annotations

import datetime
import sys
import time
from typing import Any

from posenc_jax.cli.screen import tell
from posenc_jax.drawing.plain import plain
from posenc_jax.runs.reporter import Reporter

LOG_EVERY = 30.0
"""Seconds between two lines about the same piece of work where there is no live display."""
COMPILED = ("steps", "lengths", "texts")
"""Units of work that begins with compiling."""


class Pace:
    """Speed of a piece of work and its remaining time; time spent on compiling does not count as work."""

    def __init__(self, total: int, done: int, now: float) -> None:
        self.total, self.done, self.start = total, done, done
        self.begun = self._last = now
        self.worked = 0.0

    def advance(self, amount: int, now: float) -> None:
        """``amount`` more is done; 0 says that the time since the last call was no work."""
        if amount:
            self.worked += now - self._last
            self.done += amount
        self._last = now

    @property
    def rate(self) -> float | None:
        """Amount per second of work, None before anything is done."""
        return (self.done - self.start) / self.worked if self.worked and self.done > self.start else None

    @property
    def left(self) -> float | None:
        """Seconds until all is done."""
        return None if self.rate is None else (self.total - self.done) / self.rate


class TerminalReporter(Reporter):
    """Two live lines on a terminal; in a pipe or a log a line now and then, and one when a piece of work ends."""

    def __init__(self) -> None:
        self._work = self._text = self._unit = ""
        self._pace: Pace | None = None
        self._cell: tuple[str, int, int] | None = None
        self._begun = self._cell_begun = self._logged = time.monotonic()
        self._live = _live(self)

    def __enter__(self) -> TerminalReporter:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end_phase()
        self._cell = None
        if self._live is not None:
            self._live.stop()

    def note(self, text: str) -> None:
        """A line above the live ones."""
        text = plain(text)
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            tell(text)

    def cell(self, text: str, number: int, total: int) -> None:
        """The first live line."""
        self._end_phase()
        self._cell, self._cell_begun = (plain(text), number, total), time.monotonic()

    def phase(self, text: str, total: int = 0, done: int = 0, unit: str = "steps") -> None:
        """The second live line."""
        self._end_phase()
        self._work, self._unit = plain(text), unit
        self._text = "compiling" if total and unit in COMPILED else ""
        self._pace = Pace(total, done, time.monotonic())
        self._logged = time.monotonic()

    def advance(self, amount: int, text: str = "") -> None:
        """Moves the second live line."""
        assert self._pace is not None
        now = time.monotonic()
        self._pace.advance(amount, now)
        self._text = plain(text)
        if self._live is None and now - self._logged > LOG_EVERY:
            self._logged = now
            where = f"cell {self._cell[1] + 1} of {self._cell[2]}, " if self._cell else ""
            self.note(f"{where}{self._work}: {self._counts()}, {self._speed()}, {text}".rstrip(", "))

    def _end_phase(self) -> None:
        pace, self._pace = self._pace, None
        if pace is None or pace.done == pace.start:
            return
        other = time.monotonic() - pace.begun - pace.worked
        line = f"{self._work}: {pace.done - pace.start} {self._unit} in {pace.worked:.1f} s"
        line += f" ({pace.rate:.3g}/s)" if self._unit == "steps" else ""
        line += f", compiled in {other:.1f} s" if other > 0.1 else ""
        line += f", {self._text}" if self._unit == "steps" else ""
        self.note(line)

    def _counts(self) -> str:
        assert self._pace is not None
        return f"{self._pace.done}/{self._pace.total} {self._unit}" if self._pace.total else ""

    def _speed(self) -> str:
        assert self._pace is not None
        if self._pace.left is None:
            return ""
        return f"{self._pace.rate:.3g}/s, {_clock(self._pace.left)} left"

    def _cells_left(self) -> str:
        """From the mean time of the finished cells; the present one takes at least what its work still needs."""
        assert self._cell is not None
        _, number, total = self._cell
        now = time.monotonic()
        text = _clock(now - self._begun)
        if not number:
            return text
        mean = (self._cell_begun - self._begun) / number
        of_work = self._pace.left if self._pace is not None else None
        left = max(mean - (now - self._cell_begun), of_work or 0.0) + mean * (total - number - 1)
        return f"{text}, about {_clock(left)} left" if left >= 1 else text

    def __rich__(self) -> Any:
        """The live lines, drawn several times a second."""
        from rich.console import Group
        from rich.text import Text

        lines = []
        if self._cell is not None:
            lines.append(f"cell {self._cell[1] + 1} of {self._cell[2]}: {self._cell[0]}  {self._cells_left()}")
        if self._pace is not None:
            work = self._work.removeprefix(self._cell[0]).strip() if self._cell is not None else self._work
            words = [work, self._counts(), self._speed(), self._text]
            filled = 20 * self._pace.done // self._pace.total if self._pace.total else 0
            bar = f"{'━' * filled:─<20}" if self._pace.total else f"{'...':<20}"
            lines.append(f"{bar} {', '.join(filter(None, words))}")
        return Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in lines))


def _live(reporter: TerminalReporter) -> Any:
    """Rich's live display on standard error; None where that is no terminal or Rich is not installed."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        return None
    console = Console(stderr=True)
    if console.is_dumb_terminal:
        return None
    return Live(get_renderable=reporter.__rich__, console=console, refresh_per_second=4, transient=True)


def _clock(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))
