"""Progress: rate and time left count work and not compiling; lines in a pipe, a live display on a terminal."""

import pytest
from rich.console import Console

from posenc_jax.cli import progress
from posenc_jax.cli.progress import Pace, TerminalReporter


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


def test_a_pipe_gets_a_line_now_and_then_and_one_at_the_end(capsys, clock):
    with TerminalReporter() as reporter:
        reporter.cell("rsc rope", 1, 3)
        reporter.phase("rsc rope seed 0: train", 300)
        clock.now += 5
        reporter.advance(0)
        for step in range(6):
            clock.now += 10
            reporter.advance(50, f"loss {step}")
        reporter.note("a note")
    assert capsys.readouterr().err.splitlines() == [
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
    reporter.cell("rsc rope", 1, 3)
    reporter.phase("rsc rope seed 0: train", 300)
    console = Console(width=100, record=True, force_terminal=True)

    def lines():
        console.print(reporter.__rich__())
        return [line.rstrip() for line in console.export_text().splitlines()]

    head, work = lines()
    assert head.startswith("cell 2 of 3: rsc rope ")
    assert head.endswith("0:01:00, about 0:02:00 left")
    assert work.endswith(" seed 0: train, 0/300 steps, compiling")
    clock.now += 20
    reporter.advance(0)
    clock.now += 10
    reporter.advance(100, "loss 0.5000")
    head, work = lines()
    assert head.endswith("0:01:30, about 0:01:30 left")
    assert work.endswith(" seed 0: train, 100/300 steps, 10/s, 0:00:20 left, loss 0.5000")
