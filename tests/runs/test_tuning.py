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


def tried(tuned):
    return [(t.training.microbatches, t.training.length_strata, t.training.steps_at_once) for t in tuned.others]


def test_each_setting_is_doubled_or_halved_while_it_gains(told):
    """8 microbatches of the widest are best, then 4 strata, then fewer steps a call."""
    told.cost = lambda parts, strata, steps: abs(parts - 8) + abs(strata - 4) + steps + 10
    tuned = tune(RUN)
    assert (tuned.best.training.microbatches, tuned.best.training.length_strata) == (8, 4)
    assert tuned.best.training.steps_at_once == 1
    assert tried(tuned) == [(4, 1, 4), (8, 1, 4), (8, 2, 4), (8, 4, 4), (8, 4, 10)]
    assert tuned.own.speed == 1.0
    assert tuned.best.speed == pytest.approx((6 + 3 + 4 + 10) / (0 + 0 + 1 + 10))
    assert not any(trial.open for trial in told.made)


def test_what_gains_little_is_not_taken(told):
    told.cost = lambda parts, strata, steps: 100 - 0.1 * parts - 0.1 * strata
    tuned = tune(RUN)
    assert tuned.best.training == RUN.training
    assert len(tried(tuned)) == len(set(tried(tuned))) == 5, "each neighbour once"
    assert not any(trial.open for trial in told.made)


def test_nothing_that_the_machine_has_no_memory_for_is_tried(told, monkeypatch):
    def small(run, **_):
        if run.training.microbatches < 2:
            raise RefusedError("too large")

    monkeypatch.setattr(tuning, "check_memory", small)
    told.cost = lambda parts, strata, steps: 10 + parts
    assert min(parts for parts, _, _ in tried(tune(RUN))) == 2


def test_nothing_that_the_text_is_too_short_for_is_tried(told, tmp_path):
    """96 examples in one bucket: calls of 4 steps of 16 are filled, and those of 16 steps are not."""
    run = text_runs.CONFIGS["classification"]
    task = dataclasses.replace(run.task, batching="buckets")
    run = dataclasses.replace(run, task=task, training=Training(steps=64, batch_size=16, steps_per_call=4))
    told.cost = lambda parts, strata, steps: 100 - steps
    with text_runs.small_corpus("help/modules", text_runs.ROWS["classification"], tmp_path):
        assert max(steps for _, _, steps in [(0, 0, 4), *tried(tune(run))]) == 4


@pytest.mark.slow
def test_a_real_one(tmp_path, monkeypatch):
    """Every program is compiled and timed; the present setting comes first, and no file is written."""
    monkeypatch.chdir(tmp_path)
    heard = []
    reporter = Reporter()
    reporter.phase = lambda text, *_, **__: heard.append(text)
    run = dataclasses.replace(RUN, training=dataclasses.replace(RUN.training, batch_size=2, microbatches=2, steps=4))
    monkeypatch.setattr(tuning, "SEARCHES", (("microbatches", 2),))
    tuned = tune(run, 0.01, reporter)
    assert tuned.own.training == run.training
    assert tuned.own.milliseconds > 0 < tuned.best.speed
    assert {t.training.microbatches for t in (tuned.own, *tuned.others, tuned.best)} == {1, 2}
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
    assert "\n    microbatches=32\nor say --training.microbatches 32. It is another setting" in out
    told.cost = lambda parts, strata, steps: 1.0
    assert main(["tune", "two.py"]) == 0
    assert "No setting is more than 3 % faster than the config's own (the first row): leave it." in (
        capsys.readouterr().out
    )
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["two.py"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seconds"], "'--seconds' is no option of posenc tune: say --seconds S, with S from 0 to 3600"),
        (["--seconds", "-1"], "'--seconds -1' is no option"),
        (["--seconds", "nan"], "'--seconds nan' is no option"),
        (["--steps", "3"], "'--steps 3' is no option"),
    ],
)
def test_other_options_are_refused(tmp_path, monkeypatch, capsys, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.py").write_text(CONFIG)
    assert main(["tune", "two.py", *options]) == 2
    assert message in capsys.readouterr().err


def test_settings_in_words():
    assert settings(RUN.training) == "microbatches 2, length_strata 1, steps_per_call 4"
