"""`posenc tune`: which settings it tries, what it says of them, and that it writes nothing."""

from __future__ import annotations

import dataclasses

import pytest
import text_runs

from posenc_jax.cli import main
from posenc_jax.config import Execution, Run, Training
from posenc_jax.data.tasks import Copying
from posenc_jax.models import Transformer
from posenc_jax.runs import tuning
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.tuning import settings, tune

RUN = Run(
    task=Copying(kind="cmc", min_length=2, max_length=8, num_symbols=4),
    model=Transformer(d_model=8, num_layers=1, num_heads=2),
    training=Training(steps=40, batch_size=8, microbatches=2, steps_per_call=4, log_every=40),
    execution=Execution(mode="map"),
    learning_rates=(1e-3,),
    label="tiny",
    table="copying",
)


class Told:
    """A trial whose time is told by ``cost`` of its settings."""

    made = ()

    def __init__(self, run, data):
        self.run, self.training, self.speed, self.compile_seconds, self.open = run, run.training, 1.0, 0.5, True
        Told.made += (self,)

    @property
    def milliseconds(self):
        t = self.training
        return Told.cost(t.microbatches, t.length_strata, t.steps_at_once)

    timed = tuning._Trial.timed

    def close(self):
        self.open = False


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(Told, "made", ())
    monkeypatch.setattr(tuning, "_Trial", Told)
    monkeypatch.setattr(tuning, "_take_turns", lambda a, b, seconds: None)
    return Told


def tried(rows):
    """The settings that were tried, but for the fastest."""
    training = [row.training for row in rows[1:-1] if row.training != rows[-1].training]
    return [(t.microbatches, t.length_strata, t.steps_at_once) for t in training]


def test_each_setting_is_doubled_or_halved_while_it_gains(told):
    """8 microbatches of the widest are best, then 4 strata, then fewer steps a call."""
    told.cost = lambda parts, strata, steps: abs(parts - 8) + abs(strata - 4) + steps + 10
    own, *_, best = rows = list(tune(RUN))
    assert (best.training.microbatches, best.training.length_strata) == (8, 4)
    assert best.training.steps_at_once == 1
    assert tried(rows) == [(4, 1, 4), (8, 1, 4), (8, 2, 4), (8, 4, 4), (8, 4, 10)]
    assert own.speed == 1.0
    assert best.speed == pytest.approx((6 + 3 + 4 + 10) / (0 + 0 + 1 + 10))
    assert not any(trial.open for trial in told.made)


def test_what_gains_little_is_not_taken(told):
    told.cost = lambda parts, strata, steps: 100 - 0.1 * parts - 0.1 * strata
    rows = list(tune(RUN))
    assert rows[-1].training == RUN.training
    assert len(tried(rows)) == len(set(tried(rows))) == 5, "each neighbour once"
    assert not any(trial.open for trial in told.made)


def test_nothing_that_the_machine_has_no_memory_for_is_tried(told, monkeypatch):
    def small(run, **_):
        if run.training.microbatches < 2:
            raise RefusedError("too large")

    monkeypatch.setattr(tuning, "check_memory", small)
    told.cost = lambda parts, strata, steps: 10 + parts
    assert min(parts for parts, _, _ in tried(list(tune(RUN)))) == 2


def test_nothing_that_the_text_is_too_short_for_is_tried(told, tmp_path):
    """96 examples in one bucket: calls of 4 steps of 16 are filled, and those of 16 steps are not."""
    run = text_runs.CONFIGS["classification"]
    task = dataclasses.replace(run.task, batching="buckets")
    run = dataclasses.replace(run, task=task, training=Training(steps=64, batch_size=16, steps_per_call=4))
    told.cost = lambda parts, strata, steps: 100 - steps
    with text_runs.small_corpus("own/help-modules", text_runs.ROWS["classification"], tmp_path):
        assert max(steps for _, _, steps in [(0, 0, 4), *tried(list(tune(run)))]) == 4


@pytest.mark.slow
def test_a_real_one(tmp_path, monkeypatch):
    """Every program is compiled and timed; the present setting comes first, and no file is written."""
    monkeypatch.chdir(tmp_path)
    heard = []
    reporter = Reporter()
    reporter.phase = lambda text, *_, **__: heard.append(text)
    run = dataclasses.replace(RUN, training=dataclasses.replace(RUN.training, batch_size=2, microbatches=2, steps=4))
    monkeypatch.setattr(tuning, "SEARCHES", (("microbatches", 2),))
    own, *_, best = rows = list(tune(run, 0.01, reporter))
    assert own.training == run.training
    assert own.milliseconds > 0 < best.speed
    assert {row.training.microbatches for row in rows} == {1, 2}
    assert heard[0] == "copying tiny: microbatches 2"
    assert not list(tmp_path.iterdir())


CONFIG = """
from posenc_jax import Ablation, Run, Training
from posenc_jax.data.tasks import Copying, Scan

first = Run(task=Copying(kind="cmc", max_length=4), training=Training(microbatches=2), label="a")
config = Ablation(name="two", runs=(first, Run(task=Copying(kind="cmc", max_length=4), label="b"), Run(task=Scan())))
"""


def test_the_command(told, tmp_path, monkeypatch, capsys):
    """The first run of each table, a table of what was tried, and the lines to write."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(CONFIG)
    told.cost = lambda parts, strata, steps: 8 / parts
    assert main(["tune", "two.py", "--seconds", "1"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith(("cmc", "scan"))] == ["cmc a", "scan nope"]
    assert "microbatches  length_strata  steps_per_call    compile     a step      speed\n" in out
    assert "The last row is 16.00 times as fast as the first. Write into Training(...) of the config:" in out
    assert "\n    microbatches=32\nor pass --training.microbatches 32. This is a different setting" in out
    told.cost = lambda parts, strata, steps: 1.0
    assert main(["tune", "two.py"]) == 0
    assert "No setting is more than 3 % faster than the config's own (the first row): leave it." in (
        capsys.readouterr().out
    )
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["two.py"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seconds"], "tune: argument --seconds: expected one argument"),
        (["--seconds", "-1"], "-1 must be a number of seconds, above 0 and up to 3600"),
        (["--seconds", "nan"], "nan must be a number of seconds"),
        (["--seconds=x", "--training.steps", "20"], "x must be a number of seconds"),
        (["--steps", "3"], "Unrecognized options: --steps"),
        (["--training.steps", "0"], "training.steps = 0 must be at least 1"),
    ],
)
def test_other_options_are_refused(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(CONFIG)
    assert main(["tune", "two.py", *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("config", ["one.py", "two.py"])
def test_overrides_are_those_of_train(told, tmp_path, monkeypatch, capsys, config):
    """20 steps: 4 of them at once, or 10, or 1; --seconds may stand anywhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(CONFIG)
    (tmp_path / "one.py").write_text(CONFIG.replace("config = ", "config = first\nother = "))
    told.cost = lambda parts, strata, steps: 1.0
    overrides = [
        "--training.steps",
        "20",
        "--seconds",
        "1",
        "--training.steps-per-call",
        "4",
        "--training.log-every=20",
    ]
    assert main(["tune", config, *overrides]) == 0
    assert {trial.training.steps for trial in told.made} == {20}
    assert {trial.training.steps_at_once for trial in told.made} == {1, 4, 10}
    capsys.readouterr()
    assert main(["tune", config, "--help"]) == 0
    help_text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--training.steps" in help_text
    assert "Each setting is timed for --seconds S (default 10)" in help_text


def test_an_interrupt_ends_with_what_was_found(told, tmp_path, monkeypatch, capsys):
    """Rows are there when they are timed: of 2, 4 and 8 microbatches, then the interrupt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.py").write_text(CONFIG.replace("config = ", "config = first\nother = "))
    told.cost = lambda parts, strata, steps: 8 / parts
    printed, calls = [], []

    def interrupted(a, b, seconds):
        printed.append(len(capsys.readouterr().out.splitlines()))
        calls.append(b)
        if len(calls) == 3:
            raise KeyboardInterrupt(2)

    monkeypatch.setattr(tuning, "_take_turns", interrupted)
    capsys.readouterr()
    assert main(["tune", "one.py"]) == 130
    out, error = capsys.readouterr()
    assert printed == [0, 4, 1], "the name, the head and two rows; one more"
    assert "The fastest row is 4.00 times as fast as the first" in out
    assert "\n    microbatches=8\n" in out
    assert error == "posenc: stopped\n"
    calls.clear()
    monkeypatch.setattr(tuning, "_take_turns", lambda *_: signal_now())
    assert main(["tune", "one.py"]) == 130
    assert "Stopped before a setting was timed." in capsys.readouterr().out


def signal_now():
    """What an interrupt raises."""
    raise KeyboardInterrupt(2)


def test_settings_in_words():
    assert settings(RUN.training) == "microbatches 2, length_strata 1, steps_per_call 4"
