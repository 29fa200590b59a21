"""The progress of work on a terminal, in a notebook or in a log: what is done, how far, how fast, how long still."""

import datetime
import os
import sys
import time
from typing import Any, Protocol, Self

from posenc_jax.drawing.plain import plain
from posenc_jax.runs.reporter import Reporter

LOG_EVERY = 30.0
"""Seconds between two lines about the same piece of work where there is no live display."""
REDRAWN_EVERY = 0.25
"""Seconds between two drawings of a live display."""
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


class Display(Protocol):
    """A place that shows the changing lines of a reporter."""

    keeps_all: bool
    """True if every piece of work leaves a line."""

    def start(self) -> None:
        """Opens the display."""

    def note(self, text: str) -> None:
        """A line that stays, above those that change."""

    def changed(self) -> None:
        """Draws the lines again, which have changed."""

    def stop(self, last: str) -> None:
        """Ends the display with the line ``last``."""


class ProgressReporter(Reporter):
    """Two live lines on a terminal and in a notebook; in a pipe or a file a line now and then, and one when a piece of
    work ends. Use as a context manager.
    """

    def __init__(self) -> None:
        self._work = self._text = self._unit = ""
        self._pace: Pace | None = None
        self._cell: tuple[str, int, int] | None = None
        self._begun = self._cell_begun = self._logged = time.monotonic()
        self._display = display_of(self)

    def __enter__(self) -> Self:
        if self._display is not None:
            self._display.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end_phase()
        cell, self._cell = self._cell, None
        if self._display is not None:
            how_far = (
                "" if cell is None else "cells: " + (f"{cell[2]}" if error[0] is None else f"{cell[1]} of {cell[2]}")
            )
            self._display.stop(how_far and f"{how_far}, in {_clock(time.monotonic() - self._begun)}")

    def say(self, text: str) -> None:
        """Prints a line where nothing is live."""
        if sys.stderr is not None:  # which is closed otherwise
            print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """A line above the live ones."""
        if self._display is not None:
            self._display.note(plain(text))
        else:
            self.say(plain(text))

    def cell(self, text: str, number: int, total: int) -> None:
        """The first live line."""
        self._end_phase()
        self._cell, self._cell_begun = (plain(text), number, total), time.monotonic()
        if self._display is None:
            self.note(f"cell {number + 1} of {total}: {text}")
        self._changed()

    def phase(self, text: str, total: int = 0, done: int = 0, unit: str = "steps") -> None:
        """The second live line."""
        self._end_phase()
        self._work, self._unit = plain(text), unit
        self._text = "compiling" if total and unit in COMPILED else ""
        self._pace = Pace(total, done, time.monotonic())
        self._logged = time.monotonic()
        self._changed()

    def advance(self, amount: int, text: str = "") -> None:
        """Moves the second live line."""
        assert self._pace is not None
        now = time.monotonic()
        self._pace.advance(amount, now)
        self._text = plain(text)
        if self._display is None and now - self._logged > LOG_EVERY:
            self._logged = now
            where = f"cell {self._cell[1] + 1} of {self._cell[2]}, " if self._cell else ""
            self.note(f"{where}{self._work}: {self._counts()}, {self._speed()}, {text}".rstrip(", "))
        self._changed()

    def _changed(self) -> None:
        if self._display is not None:
            self._display.changed()

    def _end_phase(self) -> None:
        pace, self._pace = self._pace, None
        if pace is None or pace.done == pace.start:
            return
        if self._cell is not None and self._display is not None and not self._display.keeps_all:
            return
        other = time.monotonic() - pace.begun - pace.worked
        line = f"{self._work}: {pace.done - pace.start} {self._unit} in {pace.worked:.1f} s"
        line += f" ({pace.rate:.3g}/s)" if self._unit == "steps" else ""
        line += f", compiled in {other:.1f} s" if other > 0.1 else ""
        line += f", {self._text}" if self._unit == "steps" and self._text else ""
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
        """The time so far and the time left, from the mean time of the finished cells."""
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

    def lines(self) -> list[str]:
        """The live lines."""
        lines = []
        if self._cell is not None:
            lines.append(f"cell {self._cell[1] + 1} of {self._cell[2]}: {self._cell[0]}  {self._cells_left()}")
        if self._pace is not None:
            above = self._cell[0] if self._cell is not None else ""
            while not self._work.startswith(above):  # the fields that tell the cell from others follow its name
                above = above.rpartition(" ")[0]
            work = self._work.removeprefix(above).strip()
            words = [work, self._counts(), self._speed(), self._text]
            filled = 20 * self._pace.done // self._pace.total if self._pace.total else 0
            bar = f"{'━' * filled:─<20}" if self._pace.total else f"{'...':<20}"
            lines.append(f"{bar} {', '.join(filter(None, words))}")
        return lines


def display_of(reporter: ProgressReporter) -> Display | None:
    """A notebook's display or a terminal's, by where this process runs; None for lines on standard error."""
    ipython = sys.modules.get("IPython")
    if ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None:
        return _Notebook(reporter)
    # A command that a notebook started has a terminal that shows no moving cursor.
    if sys.stderr is None or not sys.stderr.isatty() or "JPY_PARENT_PID" in os.environ:
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    console = Console(stderr=True)
    return None if console.is_dumb_terminal else _Terminal(reporter, console)


class _Terminal:
    """Rich's live display, drawn several times a second."""

    keeps_all = True

    def __init__(self, reporter: ProgressReporter, console: Any) -> None:
        from rich.live import Live

        self._reporter = reporter
        self._live = Live(get_renderable=self.drawn, console=console, refresh_per_second=4, transient=True)

    def drawn(self) -> Any:
        """The live lines, cut at the edge."""
        from rich.console import Group
        from rich.text import Text

        return Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in self._reporter.lines()))

    def start(self) -> None:
        self._live.start()

    def note(self, text: str) -> None:
        self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def changed(self) -> None:
        pass

    def stop(self, last: str) -> None:
        self._live.stop()


class _Notebook:
    """One output of a cell, which is replaced as work goes on: it ends with the notes and the time."""

    keeps_all = False

    def __init__(self, reporter: ProgressReporter) -> None:
        self._reporter, self._notes, self._drawn = reporter, list[str](), 0.0
        self._output: Any = None

    def start(self) -> None:
        pass

    def note(self, text: str) -> None:
        self._notes.append(text)
        self._draw(self._reporter.lines())

    def changed(self) -> None:
        if time.monotonic() - self._drawn > REDRAWN_EVERY:
            self._draw(self._reporter.lines())

    def stop(self, last: str) -> None:
        self._draw([last] if last else [])

    def _draw(self, lines: list[str]) -> None:
        from IPython.display import display

        self._drawn = time.monotonic()
        text = {"text/plain": "\n".join([*self._notes, *lines])}
        if self._output is not None:
            self._output.update(text, raw=True)
        elif text["text/plain"]:
            self._output = display(text, raw=True, display_id=True)


def _clock(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))
