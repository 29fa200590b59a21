"""The results of an ablation as flat rows, against sums done afresh from the rows of the record."""

import json

import numpy as np
import pytest
import sealed_files
from score_interval import score_interval
from synthetic_ablation import EVEN_LENGTHS, RSC_LENGTHS, SEEDS, score

from posenc_jax.results import AblationResult, read_result

PLACE = ("table", "label", "range", "length", "score")
COLUMNS = (*PLACE, "mean", "low", "high", "deviation", "seeds")


def _find(rows, *place):
    (row,) = (row for row in rows if tuple(row[name] for name in PLACE) == place)
    return row


def _scores(label, lengths, seeds=SEEDS, task="rsc"):
    return np.array([np.mean([score(task, label, seed, 1e-3, n) for n in lengths]) for seed in seeds])


def test_rows_means_and_differences_are_flat_and_complete(ablation):
    result = read_result(str(ablation))
    assert isinstance(result, AblationResult)
    assert result.directory == ablation

    assert result.rows == sealed_files.read_rows(ablation / "results.jsonl")
    assert {tuple(row) for row in result.means} == {COLUMNS}
    assert {tuple(row) for row in result.differences} == {(*COLUMNS, "baseline")}
    assert all(
        isinstance(v, int | float | str | None) for row in result.means + result.differences for v in row.values()
    )
    places = [tuple(row[name] for name in PLACE) for row in result.means]
    assert len(places) == len(set(places))
    labels = {row["label"] for row in result.means if row["table"] == "rsc"}
    assert labels == {"nope", "t5", "alibi", "sinusoidal"}  # rope has not run
    assert {row["score"] for row in result.means} == {"exact_match", "accuracy", "loss"}


def test_means_over_lengths_and_at_each(ablation):
    means = read_result(ablation).means
    for where, lengths in (("within", EVEN_LENGTHS[:2]), ("beyond", EVEN_LENGTHS[2:])):
        row = _find(means, "even_pairs", "sinusoidal", where, None, "accuracy")
        expected = _scores("sinusoidal", lengths, task="even_pairs")
        low, high = score_interval(expected)
        assert (row["mean"], row["low"], row["high"]) == pytest.approx((expected.mean(), low, high), abs=1e-9)
        assert row["seeds"] == 4
    row = _find(means, "rsc", "t5", "beyond", 12, "accuracy")
    expected = [round((1 + score("rsc", "t5", seed, 1e-3, 12)) / 2, 4) for seed in (0, 1, 3)]
    assert (row["mean"], row["seeds"]) == (pytest.approx(np.mean(expected)), 3)  # one seed diverged


def test_differences_are_paired_with_the_baseline(ablation):
    differences = read_result(ablation).differences
    assert {row["baseline"] for row in differences} == {"sinusoidal"}
    assert "sinusoidal" not in {row["label"] for row in differences}
    row = _find(differences, "rsc", "t5", "beyond", None, "exact_match")
    ours, theirs = _scores("t5", RSC_LENGTHS[3:], (0, 1, 3)), _scores("sinusoidal", RSC_LENGTHS[3:], (0, 1, 3))
    assert (row["low"], row["high"]) == pytest.approx(score_interval(ours - theirs, -1, 1), abs=1e-9)
    assert row["deviation"] == pytest.approx(np.std(ours - theirs, ddof=1), abs=1e-12)
    assert row["seeds"] == 3
    row = _find(differences, "rsc", "nope", "within", 5, "exact_match")
    apart = [score("rsc", "nope", s, 1e-3, 5) - score("rsc", "sinusoidal", s, 1e-3, 5) for s in SEEDS]
    assert row["mean"] == pytest.approx(np.mean(apart), abs=1e-12)


def test_an_ablation_without_a_baseline_has_no_differences(ablation):
    info = json.loads((ablation / "ablation.json").read_text()) | {"baseline": ""}
    sealed_files.write(ablation / "ablation.json", info)
    assert read_result(ablation).differences == []
