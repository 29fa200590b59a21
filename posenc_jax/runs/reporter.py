"""Receivers of the events of a run."""

from pathlib import Path

from posenc_jax.files.shapes import Json


class Reporter:
    """The interface that hears about progress. This one is silent."""

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

    def recorded(self, directory: Path) -> None:
        """The record of the ablation in a directory has one more cell, and others are to come."""


SILENT = Reporter()
