"""Progress: rate and time left count work and not compiling; lines in a pipe, a live display elsewhere."""

import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

import posenc_jax
from posenc_jax.cli.progress import TerminalReporter
from posenc_jax.runs import progress
from posenc_jax.runs.progress import Pace, ProgressReporter
from posenc_jax.runs.reporter import shown


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


def test_compiling_is_no_work():
    pace = Pace(total=1000, done=200, now=0.0)
    assert pace.rate is None
    assert pace.left is None
    pace.advance(0, now=30.0)  # compiled
    pace.advance(100, now=40.0)
    pace.advance(100, now=50.0)
    pace.advance(0, now=90.0)  # another program
    pace.advance(200, now=100.0)
    assert pace.rate == 400 / 30
    assert pace.left == 400 / pace.rate


@pytest.mark.parametrize("kind", [ProgressReporter, TerminalReporter])
def test_a_pipe_gets_a_line_now_and_then_and_one_at_the_end(capsys, clock, kind):
    with kind() as reporter:
        reporter.cell("rsc rope", 1, 3)
        reporter.phase("rsc rope seed 0: train", 300)
        clock.now += 5
        reporter.advance(0)
        for step in range(6):
            clock.now += 10
            reporter.advance(50, f"loss {step}")
        reporter.note("a note")
    assert capsys.readouterr().err.splitlines() == [
        "cell 2 of 3: rsc rope",
        "cell 2 of 3, rsc rope seed 0: train: 150/300 steps, 5/s, 0:00:30 left, loss 2",
        "a note",
        "rsc rope seed 0: train: 300 steps in 60.0 s (5/s), compiled in 5.0 s, loss 5",
    ]


def test_a_piece_without_work_says_nothing(capsys, clock):
    with TerminalReporter() as reporter:
        reporter.phase("all done before", total=100, done=100)
        reporter.phase("writing the report")
    assert capsys.readouterr().err == ""


def test_the_live_lines(clock):
    reporter = TerminalReporter()
    reporter.cell("rsc nope", 0, 3)
    clock.now += 60
    reporter.cell("rsc rope (model.d_model 16)", 1, 3)
    reporter.phase("rsc rope seed 0: train", 300)
    console = Console(width=100, record=True, force_terminal=True)

    def lines():
        console.print(progress._Terminal(reporter, console).drawn())
        return [line.rstrip() for line in console.export_text().splitlines()]

    head, work = lines()
    assert head.startswith("cell 2 of 3: rsc rope (model.d_model 16) ")
    assert head.endswith("0:01:00, about 0:02:00 left")
    assert work == "─" * 20 + " seed 0: train, 0/300 steps, compiling"
    clock.now += 20
    reporter.advance(0)
    clock.now += 10
    reporter.advance(100, "loss 0.5000")
    head, work = lines()
    assert head.endswith("0:01:30, about 0:01:30 left")
    assert work.endswith(" seed 0: train, 100/300 steps, 10/s, 0:00:20 left, loss 0.5000")


class Notebook:
    """Stands for IPython in a kernel; ``outputs`` are a cell's."""

    def __init__(self, kernel=object()):  # noqa: B008
        self.outputs, self.updates = [], 0
        self.display = SimpleNamespace(display=self._display)
        self.get_ipython = lambda: SimpleNamespace(kernel=kernel)

    def _display(self, bundle, raw, display_id):
        assert raw
        assert display_id
        self.outputs.append(bundle["text/plain"])
        return SimpleNamespace(update=self._update)

    def _update(self, bundle, raw):
        assert raw
        self.outputs[-1] = bundle["text/plain"]
        self.updates += 1


@pytest.fixture
def notebook(monkeypatch):
    found = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", found)
    monkeypatch.setitem(sys.modules, "IPython.display", found.display)
    return found


def test_a_notebook_has_one_output_that_ends_short(capsys, clock, notebook):
    with ProgressReporter() as reporter:
        for cell in range(30):
            reporter.cell(f"rsc \x1b[2J {cell}", cell, 30)
            reporter.phase(f"rsc \x1b[2J {cell} seed 0: train", 300)
            for _ in range(300):
                clock.now += 0.01
                reporter.advance(1, "loss 0.5")
            if cell == 2:
                reporter.note("a note")
                head, work = notebook.outputs[0].splitlines()[1:]
                assert head == r"cell 3 of 30: rsc \x1b[2J 2  0:00:09, about 0:01:21 left"
                assert work.startswith("━" * 20 + " seed 0: train, 300/300 steps, 100/s")
    assert notebook.outputs == ["a note\ncells: 30, in 0:01:30"]
    assert 30 * 300 / 50 < notebook.updates < 30 * 300 / 20, "four times a second"
    assert capsys.readouterr() == ("", "")


def test_a_run_in_a_notebook_ends_with_its_work_and_one_that_is_stopped_with_how_far_it_came(clock, notebook):
    with shown(None) as reporter:
        reporter.phase("rsc rope seed 0: train", 300)
        clock.now += 3
        reporter.advance(300, "loss 0.5")
    reporter = ProgressReporter()
    reporter.cell("rsc rope", 1, 3)
    reporter.__exit__(KeyboardInterrupt)
    assert notebook.outputs == [
        "rsc rope seed 0: train: 300 steps in 3.0 s (100/s), loss 0.5",
        "cells: 1 of 3, in 0:00:00",
    ]


def test_a_closed_stream_is_told_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    with shown(None) as reporter:
        reporter.note("a note")
    assert capsys.readouterr().out == ""


def test_nothing_to_say_makes_no_output(notebook):
    with shown(None), shown(posenc_jax.Reporter()) as reporter:
        reporter.phase("train", 3)
        reporter.note("a note")
    assert notebook.outputs == []


def test_a_display_is_chosen_by_where_it_stands(monkeypatch):
    monkeypatch.delenv("JPY_PARENT_PID", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True, write=lambda text: None))
    kinds = {}
    for name, kernel in (("IPython on a terminal", None), ("a notebook", object())):
        monkeypatch.setitem(sys.modules, "IPython", Notebook(kernel))
        kinds[name] = type(progress.display_of(ProgressReporter()))
    monkeypatch.delitem(sys.modules, "IPython")
    kinds["a terminal"] = type(progress.display_of(ProgressReporter()))
    monkeypatch.setenv("JPY_PARENT_PID", "7")
    kinds["a command in a notebook"] = type(progress.display_of(ProgressReporter()))
    assert kinds == {
        "IPython on a terminal": progress._Terminal,
        "a notebook": progress._Notebook,
        "a terminal": progress._Terminal,
        "a command in a notebook": type(None),
    }
