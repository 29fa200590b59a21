"""Reports of tasks on text: scores from 0 to 100, perplexity, lengths that stand for ranges, no unseen lengths."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
import sealed_files
from scipy import stats
from score_interval import score_interval
from synthetic_ablation import NOT_WMT, SEEDS, SIGNATURES, rewrite, text_loss, text_score, write_text_ablation

from posenc_jax.data.score_kinds import KINDS
from posenc_jax.drawing.interactive import figure
from posenc_jax.drawing.printed import render
from posenc_jax.drawing.style import styles
from posenc_jax.results import read_record, report, summarise
from posenc_jax.results.report import axes, page, plots, tables

BUCKETS, WINDOWS = (16, 32, 64), (64, 128, 256, 512)


def _task(directory, tasks, **settings):
    return summarise(read_record(write_text_ablation(directory, tasks, **settings))).tasks[0]


@pytest.fixture
def translation(tmp_path):
    return _task(tmp_path / "a", {"en-de": (32, BUCKETS)})


@pytest.fixture
def perplexity(tmp_path):
    return _task(tmp_path / "a", {"lm": (128, WINDOWS)})


def _row(table, *first):
    return dict(zip(table.columns, next(row for row in table.entries if row[: len(first)] == first)))


def test_chrf_runs_to_100_and_lengths_of_text_are_ranges(translation):
    table = tables.main_table(translation)
    at_64 = np.mean([46.4 * text_score("rope", seed, 64, 32) for seed in SEEDS])
    in_range = np.mean([46.4 * text_score("rope", seed, n, 32) for seed in SEEDS for n in (16, 32)])
    row = _row(table, "rope")
    assert row["unseen lengths"].startswith(f"{at_64:.1f} [")
    assert row["training lengths"] == f"{in_range:.1f}"
    assert row["minus sinusoidal, paired"].endswith("(4 of 4 higher)")
    assert table.title == "en-de: chrF, unseen lengths 33-64 source tokens, trained on 1..32"
    assert table.notes.count(NOT_WMT) == 1
    lengths = tables.length_table(translation)
    assert (lengths.columns[0], [row[0] for row in lengths.entries]) == ("source tokens", ["9-16*", "17-32*", "33-64"])
    assert "validation token accuracy, training lengths" in tables.rate_table(translation).columns


def test_every_score_of_the_rows_is_told_in_range_and_unseen(translation):
    table = tables.score_table(translation)
    assert table.columns[2:] == ("chrF", "BLEU", "token accuracy", "perplexity of the targets")  # exact match is 0
    for where, lengths in (("training", (16, 32)), ("unseen", (64,))):
        losses = [np.mean([text_loss("alibi", seed, n, 32) for n in lengths]) for seed in SEEDS]
        scores = [np.mean([text_score("alibi", seed, n, 32) for n in lengths]) for seed in SEEDS]
        row = _row(table, "alibi", where)
        low, high = stats.t.interval(0.95, 3, np.mean(losses), stats.sem(losses))
        shown = re.findall(r"[\d.]+", row["perplexity of the targets"])
        assert shown == [f"{math.exp(x):.1f}" for x in (np.mean(losses), low, high)]
        low, high = score_interval(17.1 * np.array(scores), 0, 100)
        assert row["BLEU"] == f"{17.1 * np.mean(scores):.1f} [{low:.1f}, {high:.1f}]"
    notes = " ".join(table.notes)
    assert f"chrF of sacrebleu: {SIGNATURES['chrf']}." in notes
    assert f"BLEU of sacrebleu: {SIGNATURES['bleu']}." in notes
    assert "448 (128 decoded) of 9-16, 384 (128 decoded) of 17-32, 256 (128 decoded) of 33-64" in notes


def test_without_unseen_lengths_the_score_is_over_all_and_says_so(tmp_path):
    task = _task(tmp_path / "a", {"en-de": (32, (16, 32))})
    table = tables.main_table(task)
    mean = np.mean([46.4 * text_score("rope", seed, n, 32) for seed in SEEDS for n in (16, 32)])
    assert table.columns[:3] == ("encoding", "all lengths", "minus sinusoidal, paired")
    assert _row(table, "rope")["all lengths"].startswith(f"{mean:.1f} [")
    assert _row(table, "rope")["minus sinusoidal, paired"].endswith("(4 of 4 higher)")
    assert "No evaluated length lies beyond the training range: the score is over all lengths." in table.notes[0]
    assert tables.seed_table(task).title.endswith("mean over all lengths")
    files = [path.name for path in report.build(tmp_path / "a")]
    assert {"report.html", "en-de.png"} < set(files)
    page = (tmp_path / "a" / "report.html").read_text()
    assert "<h3>Mean over all lengths</h3>" in page


def test_perplexity_has_geometric_means_ratios_and_lower_is_better(perplexity):
    table = tables.main_table(perplexity)
    losses = {
        label: np.array([np.mean([text_loss(label, seed, n, 128) for n in (256, 512)]) for seed in SEEDS])
        for label in ("alibi", "sinusoidal")
    }
    row = _row(table, "alibi")
    bounds = stats.t.interval(0.95, 3, losses["alibi"].mean(), stats.sem(losses["alibi"]))
    shown = [f"{math.exp(x):.1f}" for x in (losses["alibi"].mean(), *bounds)]
    assert re.findall(r"[\d.]+", row["unseen lengths"]) == shown
    ratio = losses["alibi"] - losses["sinusoidal"]
    low, high = stats.t.interval(0.95, 3, ratio.mean(), stats.sem(ratio))
    expected = "×{:.3f} [×{:.3f}, ×{:.3f}] (4 of 4 lower)".format(*map(math.exp, (ratio.mean(), low, high)))
    assert row["divided by sinusoidal, paired"] == expected
    assert "Perplexity: lower is better." in table.notes[0]
    assert tables.score_table(perplexity).columns[2:] == ("perplexity", "accuracy")  # the loss is its logarithm


def test_axes_of_perplexity_and_of_text_lengths_are_logarithmic(perplexity, translation):
    style = styles(("sinusoidal", "rope", "alibi"))
    curves = figure(plots.curves(perplexity, style))["layout"]
    assert (curves["yaxis"]["type"], curves["xaxis"]["type"]) == ("log", "log")
    assert curves["yaxis"]["title"]["text"] == "perplexity, lower is better"
    assert curves["xaxis"]["ticktext"] == ["64", "128", "256", "512"]
    points = [point.interval for cell in perplexity.cells for point in cell.curve]
    low, high = curves["yaxis"]["range"]
    assert 10**low < min(p.low for p in points) < max(p.high for p in points) < 10**high
    chrf = figure(plots.curves(translation, style))["layout"]
    assert chrf["xaxis"]["ticktext"] == ["9-16", "17-32", "33-64"]
    assert chrf["xaxis"]["title"]["text"] == "source tokens"
    assert (chrf["yaxis"]["title"]["text"], chrf["yaxis"]["tickvals"]) == ("chrF (0 to 100)", [0, 10, 20, 30, 40, 50])
    shade = next(shape for shape in chrf["shapes"] if shape["type"] == "rect")
    assert (shade["x0"], shade["x1"]) == (pytest.approx(10 ** chrf["xaxis"]["range"][0]), 32)
    assert render(plots.curves(perplexity, style))["png"][:8] == b"\x89PNG\r\n\x1a\n"


def test_a_section_is_called_by_what_its_task_asks(perplexity, tmp_path):
    found = summarise(read_record(tmp_path / "a"))
    assert '<h2 id="lm">lm</h2>' in page.page(found), "of ablations that do not say it"
    asked = dataclasses.replace(perplexity, asks="Guess the next token")
    html = page.page(dataclasses.replace(found, tasks=(asked,)))
    assert '<h2 id="lm">Guess the next token (lm)</h2>' in html
    assert '<a href="#lm">Guess the next token (lm)</a>' in html


def test_perplexity_by_position_is_a_figure_and_a_table(perplexity, tmp_path):
    table = tables.position_table(perplexity)
    assert table.title == "lm: perplexity by position in windows of 512 tokens"
    assert [row[0] for row in table.entries][-4:] == ["32-63*", "64-127*", "128-255", "256-511"]
    mean = math.exp(np.mean([text_loss("rope", seed, 257, 128) for seed in SEEDS]))
    assert dict(zip(table.columns, table.entries[-1]))["rope"].startswith(f"{mean:.1f} [")
    drawn = figure(plots.positions(perplexity, styles(("sinusoidal", "rope", "alibi"))))
    rope = next(trace for trace in drawn["data"] if trace["name"] == "rope")
    assert rope["y"][-1] == float(f"{mean:.6g}")
    assert rope["customdata"][-1].endswith("] at positions 256-511")
    html = page.page(summarise(read_record(tmp_path / "a")))
    assert html.count('id="positions-lm"') == 1
    data = json.loads(re.search(r'id="figures">(.*?)</script>', html, re.S).group(1))
    from plotly import graph_objects

    for drawn in data.values():
        graph_objects.Figure(drawn)  # refuses unknown properties


@pytest.mark.parametrize("seeds", [pytest.param((0,), marks=pytest.mark.slow), (0, 1)])
def test_all_files_are_written_for_every_task_on_text(tmp_path, seeds):
    tasks = {"en-de": (32, BUCKETS), "summaries": (16, BUCKETS), "modules": (64, BUCKETS), "lm": (64, (64,))}
    directory = write_text_ablation(tmp_path / "a", tasks, seeds=seeds)
    assert len(report.build(directory)) == 5 + 2 * len(tasks)
    markdown = (directory / "tables.md").read_text()
    for start in ("en-de: chrF, un", "summaries: ROUGE-L, un", "modules: accuracy, no unseen", "lm: perplexity, no"):
        assert f"## {start}" in markdown
    assert "| encoding | lengths | accuracy | macro F1 | loss |" in markdown  # exact match is the accuracy
    latex = (directory / "tables.tex").read_text()
    assert r"\label{tab:lm-every-score}" in latex
    assert "×" not in latex


@pytest.mark.parametrize(("low", "high"), [(12.1, 12.4), (2, 5e7), (1.0, 1.0)])
def test_logarithmic_axes_hold_their_values_and_have_ticks(low, high):
    axis = axes.score_axis(KINDS["perplexity"], [low, high], 0.1)
    assert axis.low < low <= high < axis.high
    assert 2 <= len(axis.ticks) <= 10
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    assert len(set(axis.names)) == len(axis.names)


def _bucket_32_is_mixed(row):
    return row | {"range": {16: "within", 32: "mixed", 64: "beyond"}[row["length"]]}


def test_a_length_of_trained_and_unseen_examples_is_in_no_mean_and_says_so(tmp_path):
    directory = write_text_ablation(tmp_path / "a", {"en-de": (24, BUCKETS)})
    rewrite(directory, _bucket_32_is_mixed)
    task = summarise(read_record(directory)).tasks[0]
    assert (task.in_range_lengths, task.mixed_lengths, task.unseen_lengths) == ((16,), (32,), (64,))
    for where, length in (("training", 16), ("unseen", 64)):
        mean = np.mean([46.4 * text_score("rope", seed, length, 24) for seed in SEEDS])
        assert _row(tables.score_table(task), "rope", where)["chrF"].startswith(f"{mean:.1f} [")
    said = "17-32: examples of both trained and unseen lengths, so excluded from the means over lengths."
    assert said in tables.main_table(task).notes
    lengths = tables.length_table(task)
    assert [line[0] for line in lengths.entries] == ["9-16*", "17-32 (mixed)", "33-64"]
    assert lengths.notes[1].startswith("mixed: examples of both trained and unseen lengths")
    curve = figure(plots.curves(task, styles(("sinusoidal", "rope", "alibi"))))["layout"]
    assert curve["xaxis"]["ticktext"] == ["9-16", "17-32<br>mixed", "33-64"]
    assert "17-32" in " ".join(tables.score_table(task).notes)  # its examples are counted all the same
    rewrite(directory, lambda row: row if row["length"] < 64 else None)
    sealed_files.rewrite(directory / "ablation.json", lambda info: [own["lengths"].remove(64) for own in info["cells"]])
    task = summarise(read_record(directory)).tasks[0]
    assert (task.score_name, task.score_lengths) == ("training lengths", (16,))
    assert "the score is over training lengths." in tables.main_table(task).notes[0]
