"""The tables in all their renderings: the same cells, nothing wider than the terminal, published values beside ours."""

import dataclasses
import json

import numpy as np
import pytest
import sealed_files
from score_interval import score_interval
from synthetic_ablation import RSC_LENGTHS, SEEDS, T5_NOTE, rewrite, score

from posenc_jax.data.score_kinds import kind_of
from posenc_jax.drawing import text_table
from posenc_jax.drawing.interactive import figure
from posenc_jax.drawing.latex import latex_table
from posenc_jax.drawing.style import styles
from posenc_jax.results import read_record, summarise
from posenc_jax.results.report import axes, entries, plots, tables
from posenc_jax.results.report.page import page
from posenc_jax.results.report.provenance import code_table
from posenc_jax.statistics import holm, mean_interval, paired_difference


@pytest.fixture
def summary(ablation):
    return summarise(read_record(ablation))


def _row(table, label):
    return dict(zip(table.columns, next(row for row in table.entries if row[0] == label)))


def test_main_table(summary):
    table = tables.main_table(summary.tasks[0])
    t5, rope, sinusoidal = (_row(table, label) for label in ("t5", "rope", "sinusoidal"))
    mean = np.mean([[score("rsc", "t5", s, 1e-3, n) for n in RSC_LENGTHS if n > 8] for s in (0, 1, 3)])
    assert t5["unseen lengths"].startswith(f"{mean:.3f} [")
    assert t5["minus sinusoidal, paired"].endswith("(3 of 3 higher)")
    assert t5["minus sinusoidal, paired"].startswith("+0.")
    assert (t5["seeds"], t5["learning rate"]) == ("3 of 4 (1 diverged)", "0.001")
    assert (t5["parameters (encoding)"], t5["published (lengths)"]) == ("105,504 (32)", "0.771 (21..40)")
    assert (rope["unseen lengths"], rope["seeds"]) == ("-", "0 of 4 (4 not finished)")
    assert sinusoidal["minus sinusoidal, paired"] == "baseline"
    scores = [np.mean([score("rsc", "sinusoidal", s, 1e-3, n) for n in RSC_LENGTHS if n > 8]) for s in SEEDS]
    low, high = score_interval(scores)  # Student's would begin below 0
    assert sinusoidal["unseen lengths"] == f"{np.mean(scores):.3f} [{low:.3f}, {high:.3f}]"
    assert any("mean of 3 seeds (exact_match)" in note for note in table.notes)
    assert f"t5: {T5_NOTE}" in table.notes


def test_a_direction_stands_in_words_and_another_metric_is_named(summary):
    task = summary.tasks[1]
    assert _row(tables.main_table(task), "randomized")["published (lengths)"] == "clearly above chance (41..500)"
    assert "only the direction is verified" in " ".join(task.notes)
    best = {"value": 0.6, "direction": "", "metric": "accuracy, maximum over 10 seeds", "lengths": "41..500"}
    assert entries.published_text(task, best) == "0.60 (41..500; accuracy, maximum over 10 seeds)"
    assert not entries.comparable(task, best)
    assert entries.comparable(task, best | {"metric": "accuracy"})


def test_length_seed_and_rate_tables(summary):
    task = summary.tasks[0]
    lengths = tables.length_table(task)
    assert [row[0] for row in lengths.entries] == [f"{n}{'*' if n <= 8 else ''}" for n in RSC_LENGTHS]
    at_12 = np.mean([score("rsc", "nope", s, 1e-3, 12) for s in SEEDS])
    assert dict(zip(lengths.columns, lengths.entries[6]))["nope"] == f"{at_12:.3f} (all seeds equal)"
    seeds = tables.seed_table(task)
    assert _row(seeds, "t5")["seed 2"] == "diverged at step 340"
    assert _row(seeds, "t5")["seed 1"] == f"{np.mean([score('rsc', 't5', 1, 1e-3, n) for n in range(9, 17)]):.3f}"
    rates = [row for row in tables.rate_table(task).entries if row[0] == "t5"]
    assert [(row[1], row[3], row[4]) for row in rates] == [
        ("0.001", "3 of 4, 1 diverged", "chosen"),
        ("0.003", "2 of 4, 2 diverged", ""),
    ]


@pytest.mark.parametrize("width", [40, 60, 80, 110, 160])
def test_the_terminal_is_never_too_narrow(summary, width):
    text = tables.terminal(summary, width)
    assert max(map(len, text.splitlines())) <= width
    joined = " ".join(text.split())
    assert "3 of 4 (1 diverged)" in joined or width >= 80  # in columns the two stand on two lines
    assert "Not used: rsc / alibi, seed 3, learning rate 0.001: not finished, 9 of 11 lengths" in joined
    assert "seed 2 diverged at step 340" in joined
    if width == 80:
        assert "Not shown at this width: parameters (encoding)" in joined
    if width == 160:
        assert "0.771 (21..40)" in joined


def test_markdown_and_latex_have_the_same_cells(summary):
    table = tables.main_table(summary.tasks[0])
    markdown, latex = tables.markdown(summary), tables.latex(summary)
    for row in table.entries[1:]:
        assert "| " + " | ".join(row) + " |" in markdown
    assert table.best == {(0, 1)}
    assert "| nope | **1.000** (all seeds equal) |" in markdown
    assert r"nope & \textbf{1.000}\textsuperscript{=} &" in latex
    t5 = next(row for row in table.entries if row[0] == "t5")
    mean, interval = t5[1].split(" ", 1)
    assert rf"t5 & \stacked{{r}}{{{mean} \\ {{\scriptsize {{}}{interval}}}}} & {t5[2]} &" in latex
    assert r"\stacked{l}{0.771 \\ (21--40)}" in latex
    assert r"even\_pairs: accuracy" in latex
    negative = text_table.TextTable("t", ("encoding", "score"), "lr", (("rope", "-0.1 [-0.2, 0.3]"),))
    assert "[$-$0.2, 0.3]" in latex_table(negative, "tab:t")
    assert latex.count(r"\begin{table") == 5
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == 5
    for text in (markdown, latex):
        assert "seed 2 diverged at step 340" in text
        assert "40,000 steps" in text or text is latex
    assert "rsc / alibi, seed 3, learning rate 0.001: not finished" in markdown


def test_a_score_that_is_not_finite_is_counted_and_named(ablation):
    rewrite(ablation, lambda row: row | {"exact_match": None} if (row["label"], row["seed"]) == ("nope", 1) else row)
    task = summarise(read_record(ablation)).tasks[0]
    assert _row(tables.main_table(task), "nope")["seeds"] == "3 of 4 (1 not finite)"
    assert _row(tables.seed_table(task), "nope")["seed 1"] == "not finite"
    assert any(note.startswith("nope: the score of seed 1 is not finite at 2, 5, 8, 9") for note in task.notes)


@pytest.fixture
def coded(ablation):
    """``coded(change)``: the summary of the ablation, with code and bit-exactness in its record as ``change(cell)`` of
    each cell leaves them.
    """

    def read(change=lambda cell: None):
        info = json.loads((ablation / "ablation.json").read_text())
        code = {
            "version": "0.1.0",
            "commit": "0123456789abcdef",
            "dirty": False,
            "own": {"own.py:Mine": "89abcdef" * 8},
        }
        for cell in info["cells"]:
            cell |= {"bit_exact": True, "changed_code": False, "code": [code | {"seeds": list(SEEDS)}]}
            change(cell)
        sealed_files.write(ablation / "ablation.json", info)
        return summarise(read_record(ablation))

    return read


def test_one_line_names_the_code_where_all_is_alike(coded):
    said = (
        "Computed by posenc_jax 0.1.0, commit 0123456789ab; own.py:Mine 89abcdef89ab; all results are bit-exact: "
        "computed in one environment by the same code."
    )
    summary = coded()
    assert tables.terminal(summary, 400).splitlines()[-1] == said
    assert f"## Provenance\n\n- {said.replace('_', chr(92) + '_')}\n" in tables.markdown(summary)
    assert "<p>Computed by posenc_jax 0.1.0" in page(summary)
    assert "Results were computed under different conditions" not in page(summary)


def test_what_was_computed_by_which_code_is_said_where_it_differs(coded):
    def change(cell):
        if cell["label"] == "t5":
            cell["bit_exact"], own = False, cell["code"][0]
            cell["code"] = [own | {"seeds": [0, 1]}, own | {"seeds": [3], "dirty": True, "own": {"own.py:Mine": "ff"}}]
        cell["changed_code"] = cell["label"] == "alibi"

    summary = coded(change)
    lines = tables.terminal(summary, 200).splitlines()
    assert "Not all results were computed by the same code: see the table of code and cells." in lines
    (inexact,) = (line for line in lines if line.startswith("Not bit-exact, because they were started or"))
    assert inexact.endswith("than the rest: rsc / t5.")
    assert "Own code has changed since training, and the change was accepted: rsc / alibi." in lines
    assert not any(line.startswith("Computed by") for line in lines)
    codes = code_table(summary.provenance).entries
    assert ("posenc_jax 0.1.0, commit 0123456789ab, with uncommitted changes", "rsc / t5 seed 3") in codes
    assert ("own.py:Mine ff", "rsc / t5 seed 3") in codes
    assert len(codes) == 4
    html = page(summary)
    assert "Results were computed under different conditions" in html
    assert "rsc / t5 seeds 0, 1" in html
    assert html.count('<td class="l">no</td>') == 1
    assert "## Code that computed each cell" in tables.markdown(summary)


def test_p_of_a_table_is_corrected_for_its_comparisons(summary):
    task = summary.tasks[0]
    table = tables.main_table(task)
    own = {cell.label: cell.difference.p for cell in task.cells if cell.difference and cell.difference.p is not None}
    assert set(own) == {"nope", "t5", "alibi"}
    family = holm(own)
    assert family["alibi"] == 3 * own["alibi"]
    for label, p in family.items():
        assert _row(table, label)["p, Holm"] == entries.p_text(p)
    assert (_row(table, "rope")["p, Holm"], _row(table, "sinusoidal")["p, Holm"]) == ("-", "-")
    assert (entries.p_text(0.0004), entries.p_text(0.0123)) == ("under 0.001", "0.012")
    assert "corrected for the comparisons in this table (Holm)" in table.notes[0]
    assert "A difference from fewer than 8 pairs is a hint: here the fewest are 3." in table.notes[0]


def test_equal_seeds_are_said_and_drawn_without_a_band(summary):
    equal = mean_interval([1.0] * 4, lower=0, upper=1)
    assert entries.interval_text(equal, kind_of("accuracy")) == "1.000 (all seeds equal)"
    assert axes.drawn(equal) == (1.0, 1.0)
    assert axes.with_bounds(equal, [1.0], kind_of("exact_match")) == [1.0, 1.0, 1.0, 1.0]
    assert axes.drawn(mean_interval([1.0])) is None
    task = summary.tasks[0]
    cell = next(cell for cell in task.cells if cell.label == "nope")
    at_12 = next(point for point in cell.curve if point.length == 12)
    assert at_12.interval.all_equal
    band, _, mean = (
        t for t in figure(plots.curves(task, styles(summary.labels)))["data"] if t["legendgroup"] == "nope"
    )
    assert {y for x, y in zip(band["x"], band["y"]) if x == 12} == {1.0}
    assert mean["customdata"][mean["x"].index(12)] == "(all seeds equal)"
    difference = paired_difference(dict.fromkeys(range(4), 1.0), dict.fromkeys(range(4), 0.0), lower=0, upper=1)
    said = entries.difference_text(dataclasses.replace(cell, difference=difference), task.kind)
    assert said == "+1.000 (all pairs equal; 4 of 4 higher)"
