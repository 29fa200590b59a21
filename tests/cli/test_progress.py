"""Progress: time left counts work and not compiling; lines in a pipe, a live display on a terminal."""

import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

from posenc_jax.cli import progress
from posenc_jax.cli.progress import TerminalReporter


class Clock:
    """Stands for the module `time`."""

    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def work(reporter, clock):
    reporter.cell("rsc \x1b[2Jrope", 1, 3)
    reporter.phase("rsc rope seed 0: train", 300)
    clock.now += 5
    reporter.advance(0)  # compiled
    for step in range(6):
        clock.now += 10
        reporter.advance(50, f"loss {step}")
    reporter.note("a note")


def test_a_pipe_gets_a_line_now_and_then_and_one_at_the_end(capsys, clock):
    with TerminalReporter() as reporter:
        work(reporter, clock)
    assert capsys.readouterr().err.splitlines() == [
        r"cell 2 of 3: rsc \x1b[2Jrope",
        "cell 2 of 3, rsc rope seed 0: train: 150/300 steps, 5/s, 30 s left, loss 2",
        "a note",
        "rsc rope seed 0: train: 300 steps in 60.0 s (5/s), loss 5",
    ]


def test_the_first_cell_says_what_a_cell_is(capsys):
    with TerminalReporter() as reporter:
        reporter.cell("rsc rope", 0, 3)
    assert capsys.readouterr().err == "cell 1 of 3 (one encoding on one task): rsc rope\n"


def test_a_piece_without_work_says_nothing(capsys, clock):
    with TerminalReporter() as reporter:
        reporter.phase("all done before", total=100, done=100)
        reporter.phase("writing the report")
    assert capsys.readouterr().err == ""


class Screen:
    """Stands for a terminal."""

    def __init__(self):
        self.written = ""

    def write(self, text):
        self.written += text

    def isatty(self):
        return True

    def flush(self):
        pass


@pytest.mark.parametrize(("variable", "live"), [("", True), ("7", False)])
def test_a_terminal_has_live_lines_but_not_a_command_in_a_notebook(monkeypatch, clock, variable, live):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    if variable:
        monkeypatch.setenv("JPY_PARENT_PID", variable)
    monkeypatch.setattr(sys, "stderr", screen := Screen())
    with TerminalReporter() as reporter:
        work(reporter, clock)
        if live:
            reporter._live.refresh()
            console = Console(width=120, record=True, file=SimpleNamespace(write=lambda text: None, flush=lambda: None))
            console.print(reporter._live.get_renderable())
            head, line = console.export_text().splitlines()
            assert " 1/3 " in head
            assert head.rstrip().endswith(r"rsc \x1b[2Jrope, cells")
            assert " 300/300 " in line
            assert line.rstrip().endswith("rsc rope seed 0: train, steps loss 5")
            reporter.phase("measure rope")
            console.print(reporter._live.get_renderable())
            line = console.export_text().splitlines()[-1]
            assert line.split()[1:] == ["measure", "rope"], "neither a count nor a comma"
    assert ("\x1b[" in screen.written) == live
    assert "a note\n" in screen.written
    assert "rsc rope seed 0: train: 300 steps in 60.0 s (5/s), loss 5\n" in screen.written
    assert "\x1b[2J" not in screen.written
