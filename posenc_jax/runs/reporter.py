"""Who hears what happens in a run."""

from __future__ import annotations


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
