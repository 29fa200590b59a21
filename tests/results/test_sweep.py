"""Fields that an ablation sweeps, read from its config: their arms, lines, heat maps, and the best of each."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pytest
from synthetic_sweep import BASE, widths_and_rates, write_sweep

from posenc_jax.data.tasks import Copying
from posenc_jax.drawing.interactive import figure
from posenc_jax.drawing.plots import HeatMap
from posenc_jax.encodings import ALiBi, RoPE
from posenc_jax.results import read_record, report, summarise
from posenc_jax.results.report import page, plots, tables
from posenc_jax.results.sweep import sweeps_of

RATES = (5e-4, 1e-3, 2e-3)


def changed(run=BASE, label="", *, model=None, **fields):
    """The run with other fields, some of them of its model."""
    return dataclasses.replace(run, model=dataclasses.replace(run.model, **(model or {})), label=label, **fields)


def summary_of(directory, runs, **options):
    return summarise(read_record(write_sweep(directory, runs, **options)))


def test_learning_rates_of_cells_are_a_sweep_and_two_of_them_a_line(tmp_path):
    runs = (changed(label="one", learning_rates=RATES[:2]), changed(label="two", posenc=(), learning_rates=RATES[:1]))
    (sweep,) = sweeps_of(summary_of(tmp_path / "a", runs))
    assert ([field.name for field in sweep.fields], list(sweep.arms)) == (["learning_rate"], ["one", "two"])
    (plot,) = plots.of_sweep(sweep, ("one", "two"))
    assert [(line.label, [*line.x]) for line in plot.lines] == [("one", [*RATES[:2]]), ("two", [RATES[0]])]
    assert not plot.x.logarithmic  # one is twice the other: no telling
    assert sweeps_of(summary_of(tmp_path / "b", runs[1:])) == ()


def test_every_point_is_the_mean_of_its_own_seeds(tmp_path):
    """By the numbers that were written: rate by rate, over the unseen length, with the interval of three seeds."""
    run = changed(label="rope", learning_rates=RATES)
    (sweep,) = sweeps_of(summary_of(tmp_path / "a", (run,), score=lambda run, rate: 200 * rate))
    for (rate,), point in sweep.along("rope", "learning_rate").items():
        seeds = [min(1, 200 * rate * (1 + 0.05 * math.sin(7.0 * seed + 16))) * 8 / 12 for seed in range(3)]
        np.testing.assert_allclose(point.tried.score.mean, np.mean(seeds), rtol=1e-12)
        assert point.tried.score.low < min(seeds)
        assert max(seeds) < point.tried.score.high
    single = changed(label="rope", learning_rates=RATES, seeds=(0,))
    (sweep,) = sweeps_of(summary_of(tmp_path / "b", (single,)))
    (plot,) = plots.of_sweep(sweep, ("rope",))
    assert np.isnan(plot.lines[0].low).all()
    assert "A single seed has no interval." in plot.caption
    assert "[" not in tables.sweep_table(sweep).entries[0][2]


def test_two_fields_have_a_heat_map_and_the_best_is_chosen_by_validation(tmp_path):
    summary = summary_of(tmp_path / "a", widths_and_rates())
    (sweep,) = sweeps_of(summary)
    assert [field.name for field in sweep.fields] == ["model.d_model", "learning_rate"]
    assert list(sweep.arms) == ["rope", "alibi"]
    *lines, heat = plots.of_sweep(sweep, summary.labels)
    assert isinstance(heat, HeatMap)
    assert [title for title, _ in heat.panels] == ["rope", "alibi"]
    assert (heat.x.names, heat.y.names) == (("16", "32", "64"), ("0.002", "0.001", "0.0005"))
    means = {
        (point.values["model.d_model"], point.values["learning_rate"]): point.tried.score.mean
        for point in sweep.arms["alibi"]
    }
    expected = [[means[d_model, rate] for d_model in (16, 32, 64)] for rate in reversed(RATES)]
    np.testing.assert_allclose(heat.panels[1][1], expected)
    assert [line[:3] for line in tables.sweep_table(sweep).entries] == [  # of equal ones the smallest width
        ("rope", "32", "0.001"),
        ("alibi", "32", "0.001"),
    ]
    assert tables.sweep_table(sweep).columns[-2] == "exact match, unseen lengths"
    assert "The score, over unseen lengths 12, plays" in tables.sweep_table(sweep).notes[0]
    # Against the width every point has its own rate.
    own = {width: point.values["learning_rate"] for (width,), point in sweep.along("rope", "model.d_model").items()}
    assert own == {16: 2e-3, 32: 1e-3, 64: 5e-4}
    assert "Each point uses the learning rate that validation" in lines[0].caption
    assert lines[0].x.logarithmic
    assert lines[1].x.logarithmic


def test_a_rate_at_which_a_seed_diverged_wins_nothing(tmp_path):
    run = changed(label="rope", learning_rates=RATES)
    summary = summary_of(tmp_path / "a", (run,), score=lambda run, rate: rate, diverged=lambda r, rate, s: rate > 1e-3)
    (sweep,) = sweeps_of(summary)
    assert sweep.best("rope").values == {"learning_rate": 1e-3}
    assert "Seeds that diverged have no score" in plots.of_sweep(sweep, ())[0].caption
    assert [value for (value,) in sweep.along("rope", "learning_rate")] == [5e-4, 1e-3]
    summary = summary_of(tmp_path / "b", widths_and_rates(), diverged=lambda run, rate, seed: rate > 1e-3)
    (sweep,) = sweeps_of(summary)
    assert "Seeds that diverged have no score" in plots.of_sweep(sweep, summary.labels)[-1].caption


def test_fields_of_encodings_and_fields_that_change_along(tmp_path):
    bases = tuple(changed(label=f"base {base:g}", posenc=(RoPE(base=base),)) for base in (1e2, 1e4, 1e6))
    (sweep,) = sweeps_of(summary_of(tmp_path / "a", (*bases, changed(label="alibi", posenc=(ALiBi(),)))))
    assert [field.name for field in sweep.fields] == ["rope.base"]
    assert sweep.values("rope.base") == (1e2, 1e4, 1e6)
    assert list(sweep.arms) == ["rope", "alibi"]
    assert [line[0] for line in tables.sweep_table(sweep).entries] == ["rope"]
    widths = [(16, 2), (32, 2), (64, 4)]  # heads follow from widths, not widths from heads
    runs = tuple(changed(label=str(d), model={"d_model": d, "num_heads": heads}) for d, heads in widths)
    (sweep,) = sweeps_of(summary_of(tmp_path / "b", runs))
    assert [(field.name, field.along) for field in sweep.fields] == [("model.d_model", ("model.num_heads",))]
    assert "Changes with it: model.num_heads." in plots.of_sweep(sweep, ())[0].caption


def test_arms_that_differ_in_words_are_told_apart(tmp_path):
    runs = tuple(
        changed(label=f"{norm} {width}", model={"d_model": width, "norm": norm})
        for norm, width in itertools.product(("pre", "post"), (16, 32))
    )
    (sweep,) = sweeps_of(summary_of(tmp_path / "a", runs))
    assert list(sweep.arms) == ["rope, model.norm=pre", "rope, model.norm=post"]


def test_another_task_is_drawn_and_chooses_nothing(tmp_path):
    runs = tuple(
        changed(label="rope", table=f"to {longest}", task=Copying(kind="rsc", max_length=longest), seeds=(0, 1))
        for longest in (8, 10)
    )
    directory = write_sweep(tmp_path / "a", runs)
    summary = summarise(read_record(directory))
    (sweep,) = sweeps_of(summary)
    assert [field.name for field in sweep.fields] == ["task.max_length"]
    assert sweep.tables == ("to 8", "to 10")
    assert sweep.best("rope") is None
    assert tables.sweep_table(sweep).entries == ()
    both = tuple(dataclasses.replace(run, learning_rates=RATES) for run in runs)
    (sweep,) = sweeps_of(summary_of(tmp_path / "b", both))
    assert list(sweep.arms) == ["rope, task.max_length=8", "rope, task.max_length=10"]
    assert [field.name for field in sweep.fields] == ["learning_rate"]


@pytest.mark.parametrize(
    ("values", "logarithmic"), [((16.0, 32.0, 64.0), True), ((1.0, 2.0, 3.0, 4.0), False), ((0.0, 0.1, 1.0), False)]
)
def test_an_axis_is_logarithmic_where_values_grow_by_factors(values, logarithmic):
    assert plots.sweep_axis("x", values).logarithmic == logarithmic


def test_it_stands_on_the_page_and_in_figures(tmp_path):
    directory = write_sweep(tmp_path / "a", widths_and_rates())
    summary = summarise(read_record(directory))
    text = page.page(summary)
    assert "rsc: scores against model.d_model and learning rate</h2>" in text
    assert 'role="figure" aria-label="rsc: exact match against model.d_model and learning rate' in text
    written = {path.name for path in report.build(directory)}
    names = ("model-d_model", "learning_rate", "model-d_model-learning_rate")
    assert {f"swept-{name}-rsc.{kind}" for name in names for kind in ("png", "pdf")} <= written
    said = report.text_report(directory, 100)
    assert "rsc: the best model.d_model and learning rate" in said
    (sweep,) = sweeps_of(summary)
    json.dumps([figure(plot) for plot in plots.of_sweep(sweep, summary.labels)], allow_nan=False)
