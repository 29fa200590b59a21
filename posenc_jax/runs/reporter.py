"""Receivers of the events of a run."""

import sys
import time

from posenc_jax.files.shapes import Json


class Reporter:
    """Hears what happens. This one says nothing; the command line's draws progress."""

    def note(self, text: str) -> None:
        """Something that a user should read."""

    def cell(self, text: str, number: int, total: int) -> None:
        """Cell ``number`` of the ``total`` that an ablation has to run begins."""

    def phase(self, text: str, total: int = 0, done: int = 0, unit: str = "steps") -> None:
        """A new piece of work begins (``total`` of ``unit``, of which ``done`` are done), with compiling if need be."""

    def advance(self, amount: int, text: str = "") -> None:
        """Some of the work is done; ``advance(0)``: all is compiled, from now on its rate can be told."""

    def rows(self, cell: str, rows: list[Json]) -> None:
        """Rows of metrics that have been written for a group of a cell ("table label")."""

    def result(self, cell: str, result: Json) -> None:
        """The result that has been written for one."""


class PrintingReporter(Reporter):
    """Prints on stderr what begins, what a user should read, and every ten seconds how far it is."""

    def __init__(self) -> None:
        self._text, self._unit, self._total, self._done, self._said = "", "", 0, 0, 0.0

    def note(self, text: str) -> None:
        """A line."""
        print(text, file=sys.stderr)

    def cell(self, text: str, number: int, total: int) -> None:
        """A line."""
        self.note(f"cell {number + 1} of {total}: {text}")

    def phase(self, text: str, total: int = 0, done: int = 0, unit: str = "steps") -> None:
        """A line, and a new count."""
        self._text, self._unit, self._total, self._done, self._said = text, unit, total, done, time.monotonic()
        self.note(f"{text}: {done} of {total} {unit}" if total else text)

    def advance(self, amount: int, text: str = "") -> None:
        """A line at the end of the phase, and one every ten seconds."""
        self._done += amount
        now = time.monotonic()
        if amount and (self._done >= self._total or now - self._said > 10):
            self._said = now
            self.note(", ".join(filter(None, [f"{self._text}: {self._done} of {self._total} {self._unit}", text])))
