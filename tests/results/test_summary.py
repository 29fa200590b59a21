"""What is read from an ablation directory and what is said about it, against sums done afresh from the rows."""

import math

import numpy as np
import pytest
import sealed_files
from score_interval import score_interval
from synthetic_ablation import EVEN_LENGTHS, RSC_LENGTHS, SEEDS, rewrite, score

from posenc_jax.results import read_record, summarise

UNSEEN = {"rsc": [n for n in RSC_LENGTHS if n > 8], "even_pairs": [n for n in EVEN_LENGTHS if n > 10]}


def _summary(directory):
    return summarise(read_record(directory))


def _cell(summary, task_label, label):
    task = next(task for task in summary.tasks if task.task_label == task_label)
    return next(cell for cell in task.cells if cell.label == label)


def _expected(task_label, label, rate, seeds=SEEDS):
    return np.array([np.mean([score(task_label, label, s, rate, n) for n in UNSEEN[task_label]]) for s in seeds])


def test_scores_and_intervals(ablation):
    cell = _cell(_summary(ablation), "rsc", "nope")
    expected = _expected("rsc", "nope", 1e-3)
    assert list(cell.scores) == list(SEEDS)
    assert np.array(list(cell.scores.values())) == pytest.approx(expected, abs=1e-12)
    cell = _cell(_summary(ablation), "even_pairs", "sinusoidal")
    expected = _expected("even_pairs", "sinusoidal", 1e-3)
    low, high = score_interval(expected)
    assert (cell.score.mean, cell.score.low, cell.score.high) == pytest.approx((expected.mean(), low, high), abs=1e-9)
    in_range = [np.mean([score("even_pairs", "sinusoidal", s, 1e-3, n) for n in (5, 10)]) for s in SEEDS]
    assert cell.in_range.mean == pytest.approx(np.mean(in_range), abs=1e-12)
    at_12 = next(point for point in cell.curve if point.length == 12)
    assert at_12.scores == {s: score("even_pairs", "sinusoidal", s, 1e-3, 12) for s in SEEDS}


def test_a_diverged_seed_is_missing_in_means_and_pairs_and_is_named(ablation):
    summary = _summary(ablation)
    cell = _cell(summary, "rsc", "t5")
    ours, theirs = _expected("rsc", "t5", 1e-3, (0, 1, 3)), _expected("rsc", "sinusoidal", 1e-3, (0, 1, 3))
    assert cell.diverged == {2: 340}
    assert (cell.score.n, cell.score.missing) == (3, 1)
    assert cell.score.mean == pytest.approx(ours.mean(), abs=1e-12)
    difference = cell.difference
    low, high = score_interval(ours - theirs, -1, 1)
    assert (difference.interval.low, difference.interval.high) == pytest.approx((low, high), abs=1e-9)
    assert (difference.interval.n, difference.higher, difference.unpaired) == (3, 3, (2,))
    assert "t5: 3 of 4 seeds (seed 2 diverged at step 340); means are over the others." in summary.tasks[0].notes


def test_a_cell_without_results_says_so(ablation):
    summary = _summary(ablation)
    cell = _cell(summary, "rsc", "rope")
    assert (cell.score.mean, cell.curve, cell.difference.interval.n) == (None, (), 0)
    assert "rope: no result, 0 of 4 seeds (seeds 0, 1, 2, 3 not finished)." in summary.tasks[0].notes


def test_unfinished_runs_are_named_and_not_averaged(ablation):
    assert _summary(ablation).skipped == ("rsc / alibi, seed 3, learning rate 0.001: not finished, 9 of 11 lengths",)


def test_the_learning_rate_is_chosen_by_validation_never_by_test_lengths(ablation):
    assert _cell(_summary(ablation), "even_pairs", "randomized").learning_rate == 1e-3

    def better_on_unseen(row):
        if row["label"] == "randomized" and row["learning_rate"] == 3e-3 and row["range"] == "beyond":
            row["accuracy"] = 1.0
        return row

    rewrite(ablation, better_on_unseen)
    assert _cell(_summary(ablation), "even_pairs", "randomized").learning_rate == 1e-3
    rewrite(ablation, lambda row: row | {"validation": 0.5 + 100 * row["learning_rate"]})
    cell = _cell(_summary(ablation), "even_pairs", "randomized")
    assert cell.learning_rate == 3e-3
    assert cell.score.mean == 1.0
    assert [(t.learning_rate, t.validation.n, t.chosen) for t in cell.tried] == [(1e-3, 4, False), (3e-3, 4, True)]


def test_a_rate_with_fewer_seeds_is_not_chosen(ablation):
    # T5 at 3e-3 has the better validation here, but two of its seeds diverged there.
    rewrite(ablation, lambda row: row | {"validation": 0.9 if row["learning_rate"] == 3e-3 else 0.8})
    assert _cell(_summary(ablation), "rsc", "t5").learning_rate == 1e-3


def test_rows_that_were_not_asked_for_are_left_out_by_name(ablation):
    def foreign(row):
        if row["label"] == "nope" and row["seed"] == 3:
            return row | {"seed": 9}
        if row["label"] == "randomized" and row["seed"] == 0:
            return row | {"config_hash": "ffffffff"}
        return row

    rewrite(ablation, foreign)
    summary = _summary(ablation)
    assert "rsc / nope: seed 9 is not asked for in ablation.json (22 rows)" in summary.skipped
    assert any(s.startswith("even_pairs / randomized: rows of config ffffffff") for s in summary.skipped)
    assert _cell(summary, "rsc", "nope").unfinished == (3,)
    assert _cell(summary, "even_pairs", "randomized").score.n == 3


def test_contradicting_rows_are_refused_and_repeated_ones_are_not(ablation):
    path = ablation / "results.jsonl"
    rewrite(ablation, lambda row: row)
    rows = sealed_files.read_rows(path)
    mine = next(
        r for r in rows if (r["label"], r["seed"], r["length"]) == ("nope", 1, 16) and r["learning_rate"] == 1e-3
    )
    before = _cell(_summary(ablation), "rsc", "nope")
    with path.open("a") as file:
        print(sealed_files.line(mine), file=file)
    assert _cell(_summary(ablation), "rsc", "nope") == before
    with path.open("a") as file:
        print(sealed_files.line(mine | {"exact_match": 0.25}), file=file)
    summary = _summary(ablation)
    assert "rsc / nope, seed 1, learning rate 0.001: two different rows for length 16" in summary.skipped


def test_scores_use_the_lengths_that_all_cells_have(ablation):
    rewrite(ablation, lambda row: None if row["label"] == "randomized" and row["length"] == 40 else row)
    sealed_files.rewrite(
        ablation / "ablation.json",
        lambda info: [own["lengths"].remove(40) for own in info["cells"] if own["label"] == "randomized"],
    )
    summary = _summary(ablation)
    assert summary.tasks[1].unseen_lengths == (12, 15, 20, 30)
    assert (
        "sinusoidal was also measured at lengths 40; scores use the lengths that all cells have."
        in summary.tasks[1].notes
    )
    expected = np.mean([[score("even_pairs", "sinusoidal", s, 1e-3, n) for n in (12, 15, 20, 30)] for s in SEEDS])
    assert _cell(summary, "even_pairs", "sinusoidal").score.mean == pytest.approx(expected, abs=1e-12)


def test_lengths_without_examples_do_not_exist(ablation):
    rewrite(ablation, lambda row: row | {"count": 0, "exact_match": None} if row["length"] == 13 else row)
    summary = _summary(ablation)
    assert 13 not in summary.tasks[0].unseen_lengths
    assert _cell(summary, "rsc", "nope").score.n == 4


def _not_finite(label, seed, length, rate=1e-3):
    """A change of rows: that replica has no finite score at that length."""
    which = (label, seed, length, rate)

    def change(row):
        here = (row["label"], row["seed"], row["length"], row["learning_rate"])
        return row | {"exact_match": math.nan} if here == which else row

    return change


def test_a_score_that_is_not_finite_is_missing_at_its_length_and_said(ablation):
    before = _cell(_summary(ablation), "rsc", "nope")
    rewrite(ablation, _not_finite("nope", 0, 12))
    summary = _summary(ablation)
    cell = _cell(summary, "rsc", "nope")
    assert (cell.not_finite, cell.unfinished) == ({0: (12,)}, ())
    assert cell.scores == {seed: score for seed, score in before.scores.items() if seed != 0}
    assert (cell.score.n, cell.score.missing) == (3, 1)
    assert cell.in_range_scores == before.in_range_scores
    assert [sorted(p.scores) for p in cell.curve] == [list(SEEDS) if p.length != 12 else [1, 2, 3] for p in cell.curve]
    (note,) = (note for note in summary.tasks[0].notes if "not finite" in note)
    assert note == (
        "nope: the score of seed 0 is not finite at 12; it is missing there and in the means over these lengths."
    )
    assert not any("nope" in line for line in summary.skipped)


def _torn(row):
    here = (row["label"], row["seed"], row["length"], row["learning_rate"])
    return None if here == ("nope", 0, 12, 3e-3) else row


@pytest.mark.parametrize(
    ("change", "scored"),
    [
        (_not_finite("nope", 0, 12, 3e-3), [1, 2, 3]),
        (_not_finite("nope", 0, 2, 3e-3), [0, 1, 2, 3]),
        (_torn, [1, 2, 3]),
    ],
)
def test_no_test_length_decides_the_learning_rate(ablation, change, scored):
    """Neither a score that is not finite nor a row that is missing takes a replica's validation out of the choice."""
    rewrite(ablation, lambda row: row | {"validation": 0.9 if row["learning_rate"] == 3e-3 else 0.1})
    rewrite(ablation, change)
    cell = _cell(_summary(ablation), "rsc", "nope")
    assert cell.learning_rate == 3e-3
    assert [(t.learning_rate, t.validation.n) for t in cell.tried] == [(1e-3, 4), (3e-3, 4)]
    assert sorted(cell.scores) == scored


def test_nothing_to_report_is_one_clear_error(ablation, tmp_path):
    with pytest.raises(ValueError, match="nowhere does not exist: name the directory of an ablation"):
        read_record(tmp_path / "nowhere")
    for text, said in (('{"task_label": "rsc", \n', "Expecting"), ("{}\n", "it has no checksum")):
        (ablation / "results.jsonl").write_text(text)
        with pytest.raises(ValueError, match=rf"results\.jsonl is damaged \(line 1: {said}"):
            read_record(ablation)
    (ablation / "results.jsonl").unlink()
    with pytest.raises(
        ValueError, match=r"has no results to report: results\.jsonl is missing\. Run the ablation first"
    ):
        read_record(ablation)
    (ablation / "ablation.json").write_text("{")
    with pytest.raises(ValueError, match=r"ablation\.json is damaged .*run the ablation again"):
        read_record(ablation)
