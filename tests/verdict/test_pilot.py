"""The pilot says how many seeds the time affords, and refuses to promise more."""

import dataclasses
import statistics
from types import SimpleNamespace

import pytest
from measured_cells import measured
from trained_runs import Notes

from posenc_jax import Evaluation, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import parse
from posenc_jax.results.timing import PhaseTiming
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.targets import target_here
from posenc_jax.statistics import detectable
from posenc_jax.verdict import pilot
from posenc_jax.verdict.interim import sees
from posenc_jax.verdict.own_questions import own_table

RUN = Run(
    task=Copying(min_length=2, max_length=3, num_symbols=4),
    model=Transformer(d_model=8, num_layers=1, num_heads=1),
    training=Training(steps=40, batch_size=2, steps_per_call=2, log_every=2),
    evaluation=Evaluation(lengths=(2, 4), num_examples=4),
)
TABLES = {"copies": own_table("copies", RUN, "copies", "mine.py")}
ARMS = {"alibi": parse("alibi"), "rope": parse("rope")}


@pytest.fixture
def slow(monkeypatch):
    """A machine on which one seed of both arms takes a minute at six learning rates, half of it at three."""
    cells = [TABLES["copies"].cell(slot, label, (0,)) for label, slot in ARMS.items()]
    assert {len(cell.learning_rates) for cell in cells} == {3}
    work = 2 * sum(plan_of(cell, target_here()).operations for cell in cells)
    timed = PhaseTiming(seconds=60.0, steps=12000, tokens=0, operations=work, at_peak=None)
    monkeypatch.setattr(pilot, "_timed", lambda *_: timed)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize(("hours", "seeds"), [(0.035, 2), (0.105, 6), (1.01, 60), (100, 1000), (1e308, 1000)])
def test_the_seeds_that_a_time_affords(tmp_path, hours, seeds):
    heard = Notes()
    assert pilot.affordable(ARMS, TABLES, hours, tmp_path, reporter=heard) == seeds
    (line,) = heard.notes
    assert line.startswith("pilot: a step of rope on copies takes 5.0 ms, one seed of 2 encodings on 1 table 1")
    assert ", or 30\u00a0s if no grid of learning rates grows, so " in line
    assert "paired seeds fit into" in line
    assert "not counting compilation; what is not learned is not trained" in line


def test_without_a_time_the_price_is_told(monkeypatch):
    cells = [TABLES["copies"].cell(slot, label, (0, 1)) for label, slot in ARMS.items()]
    monkeypatch.setattr(pilot, "plan_of", lambda cell, _: SimpleNamespace(hours=0.25 * len(cell.replicas)))
    said = pilot.estimate(ARMS, TABLES, (0, 1), once=True)
    assert sum(len(cell.replicas) for cell in cells) == 12, "three learning rates, two seeds, two encodings"
    assert said.startswith("12 trainings of 2 encodings on 1 table: about 3\u00a0h on ")
    assert "excluding compilation; less if some are finished already, more if the grid of learning rates grows" in said
    assert said.endswith("grid of learning rates grows")
    steps = TABLES["copies"].run.training.steps
    monkeypatch.setattr(pilot, "plan_of", lambda cell, _: SimpleNamespace(hours=cell.training.steps / steps))
    said = pilot.estimate(ARMS, TABLES, (0, 1))
    assert "about 2\u00a0h on " in said
    assert said.endswith("and up to 4\u00a0h more where a table is not learned and trained again"), "twice the steps"
    monkeypatch.setattr(pilot, "plan_of", lambda *_: SimpleNamespace(hours=None))
    assert "about - on" in pilot.estimate(ARMS, TABLES, (0, 1))


@pytest.mark.usefixtures("slow")
def test_a_single_learning_rate_does_not_grow(tmp_path):
    (table,) = TABLES.values()
    alone = dataclasses.replace(table, run=dataclasses.replace(table.run, learning_rates=(1e-3,)))
    heard = Notes()
    assert pilot.affordable(ARMS, {"copies": alone}, 0.05, tmp_path, reporter=heard) == 18, "ten seconds a seed"
    assert "if no grid" not in heard.notes[0]


@pytest.mark.usefixtures("slow")
def test_no_time_for_two_seeds_is_refused_with_the_hours_that_would_do(tmp_path):
    ways_out = (
        r"write --hours 0\.034 or more, or .*; if other work slowed these steps, remove .*pilot to time them again"
    )
    with pytest.raises(RefusedError, match=rf"--hours 0\.02 affords no two paired seeds .*: {ways_out}"):
        pilot.affordable(ARMS, TABLES, 0.02, tmp_path, reporter=Notes())
    assert pilot.affordable(ARMS, TABLES, 0.034, tmp_path, reporter=Notes()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hours", "0"], "--hours: 0 is no number of hours above 0: write one, as in 0.5"),
        (["--hours", "soon"], "--hours: soon is no number of hours above 0"),
        (["--hours", "1", "--seeds", "4"], "--hours says how many seeds there are, and so does --seeds: leave one"),
    ],
)
def test_refused_in_one_line(refusal, arguments, message):
    assert message in refusal("verdict", "alibi", "--tables", "copy", *arguments)


def test_the_difference_that_the_seeds_will_find_is_of_the_first_ones():
    ours = {"a": measured({0: 0.5, 1: 0.7}, "a"), "b": measured({0: 0.6, 1: 0.6}, "b")}
    theirs = {"rope": measured({0: 0.5, 1: 0.5}, "rope")}
    (line,) = sees(TABLES["copies"], ours, theirs, 8, 2)
    deviation = statistics.fmean([statistics.variance([0.0, 0.2]), 0.0]) ** 0.5
    least = detectable(deviation, 8, confidence=0.975)
    said = f"with the spread of these, 8 seeds find a difference of {least:.3f} on copies in 8 of 10 repeats"
    of_few = "so few seeds show little of the spread, which may be larger"
    assert line == f"{said}, corrected for 2 rows; {of_few}"
    equal = {"a": measured({0: 0.5, 1: 0.5}, "a")}
    assert not list(sees(TABLES["copies"], equal, theirs, 8, 1)), "no spread says nothing"


@pytest.mark.slow
def test_steps_are_timed_once(tmp_path):
    """The same question has the same answer: the second call reads what the first has measured."""
    said = []
    for _ in range(2):
        heard = Notes()
        assert pilot.affordable(ARMS, TABLES, 1.0, tmp_path, reporter=heard) >= 2
        said.append((heard.notes[-1], [path.read_bytes() for path in sorted(tmp_path.rglob("timing.jsonl"))]))
    assert said[0][1]
    assert said[0] == said[1]
