"""Scores of tasks and metrics of one's own: which way is better, which names are taken."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from posenc_jax.config import Evaluation, Run
from posenc_jax.config.guessing import chance_of
from posenc_jax.data.checks import check_scores
from posenc_jax.data.metric import Metric, check_metrics
from posenc_jax.data.score_kinds import kind_of
from posenc_jax.data.tasks import Copying, FlipFlop, PositionOf, PositionOrToken, TokenBack
from posenc_jax.data.text import Data, Summarization, Translation
from posenc_jax.results.averages import comparison_of
from posenc_jax.runs import ablation_record
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.preflight import check_run
from posenc_jax.statistics import word
from posenc_jax.training.memory import own_sums


@pytest.mark.parametrize(("metric", "by"), [("loss", "accuracy"), ("read_error", "accuracy"), ("exact_match", None)])
def test_learning_rates_are_chosen_by_a_score_that_is_better_when_larger(metric, by):
    task = type("Own", (Copying,), {"metric": metric})(kind="cmc", max_length=3, num_symbols=4)
    assert task.validation_metric == (by or metric)
    assert kind_of(task.validation_metric).better == "higher"
    assert kind_of(FlipFlop(length=8).validation_metric).better == "higher"


@pytest.mark.parametrize("chance", [0.0, None, 0.5])
def test_of_errors_none_at_all_is_not_what_guessing_gives(chance):
    """Where a task of one's own says nothing of chance, which is 0 then."""
    ours, theirs = ({seed: mean + 0.01 * (seed % kinds) for seed in range(8)} for mean, kinds in ((0.1, 2), (0.4, 3)))
    found = comparison_of(ours, theirs, kind_of("read_error"), chance)
    assert word(found, None, "lower") == "better"


def test_guessing_is_known_unless_a_class_of_the_users_is_silent_where_it_is_needed():
    """A record that said 0 for it would let a verdict on the run say what one on the task refuses to."""
    sizes = {"kind": "cmc", "max_length": 3, "num_symbols": 4}
    silent = type("Own", (Copying,), {"metric": "accuracy", "__module__": "own"})
    assert chance_of(silent(**sizes)) is None
    assert chance_of(type("Own", (silent,), {"chance": 0.25, "__module__": "own"})(**sizes)) == 0.25
    assert chance_of(type("Own", (silent,), {"metric": "exact_match", "__module__": "own"})(**sizes)) == 0.0
    assert chance_of(Copying(**sizes)) == 0.0


@pytest.mark.parametrize("name", ["range", "seed", "validation", "mode", "task_label", "loss", "length"])
def test_a_metric_may_not_take_the_name_of_a_column(name):
    own = dataclasses.dataclass(frozen=True)(type("Own", (Metric,), {"name": name}))
    with pytest.raises(ValueError, match=f"{name!r} is a column that results have already"):
        check_metrics([own()])


def test_every_column_of_results_is_a_taken_name():
    from trained_runs import CONFIG

    scores = {"length": 3, "accuracy": 0.5, "loss": 1.0, "count": 4}
    replica = {
        "seed": 0,
        "learning_rate": 0.1,
        "validation": {"accuracy": 1.0, "exact_match": 1.0},
        "diverged_at": None,
    }
    result = dict.fromkeys(
        ("posenc", "bit_exact", "environment", "mode", "group_size", "device_kind", "device_count", "threads"), 1
    )
    config = dataclasses.replace(CONFIG, seeds=(0,), learning_rates=(0.1,))
    stored = ablation_record.StoredCell(config, Path(), {}, [], [], {}, True)
    (row,) = ablation_record._rows(stored, result | {"replicas": [replica | {"evaluation": [scores]}]})
    for name in row:
        own = dataclasses.dataclass(frozen=True)(type("Own", (Metric,), {"name": name}))
        with pytest.raises(ValueError, match="is a column that results have already"):
            check_metrics([own()])


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_languages_whose_words_need_a_package_of_their_own_have_no_bleu(language):
    """Which would be missed after the training only."""
    task = Translation(data=Data(name="own/x"), target=language)
    assert set(task.text_scores(["a b"], [{"en": "x", language: "a b"}])) == {"chrf"} == set(task.signatures)
    assert "bleu" in Translation(data=Data(name="own/x"), target="zh").text_scores(["a b"], [{"en": "x", "zh": "a b"}])


def test_a_headline_score_that_no_result_has_is_refused_before_training():
    task = type("Own", (Copying,), {"name": "own", "metric": "acc"})(kind="cmc", max_length=3, num_symbols=4)
    with pytest.raises(RefusedError, match="has metric = 'acc', and its results have accuracy, exact_match, loss"):
        check_run(_run(task))
    near = type("Own", (Copying,), {"name": "own", "metric": "exact_mach"})(kind="cmc", max_length=3, num_symbols=4)
    with pytest.raises(RefusedError, match=r"did you mean exact_match\?"):
        check_run(_run(near))
    reports = {"name": "own", "metric": "read", "results": lambda self, scores: {**scores, "read": 1.0}}
    own = type("Own", (Copying,), reports)(kind="cmc", max_length=3, num_symbols=4)
    check_run(_run(own))
    other = type("Own", (Copying,), {**reports, "metric": "reads"})(kind="cmc", max_length=3, num_symbols=4)
    with pytest.raises(RefusedError, match=r"did you mean read\?"):
        check_run(_run(other))


def test_results_that_are_no_scores_are_refused_before_training():
    attributes = {"name": "own", "results": lambda self, scores: None}
    nothing = type("Own", (Copying,), attributes)(kind="cmc", max_length=3, num_symbols=4)
    with pytest.raises(RefusedError, match=r"Own\.results returns NoneType, and results are a dict of scores"):
        check_run(_run(nothing))


def _run(task):
    return Run(task=task, evaluation=Evaluation(lengths=(3,), num_examples=8))


@pytest.mark.parametrize("task", [FlipFlop(length=8), PositionOf(), TokenBack(), PositionOrToken()])
def test_scores_of_ours_can_be_asked_of_sums_that_are_all_one(task):
    run = Run(task=task, evaluation=Evaluation(lengths=(task.train_lengths[-1],), num_examples=8))
    check_scores(task, (), own_sums(run, 1, task.train_lengths[-1]))


def test_summaries_in_other_scripts_are_scored_by_chrf_beside_rouge(monkeypatch):
    """ROUGE knows none of their letters, and says so in reports."""
    task = Summarization(data=Data(name="own/x"))
    scores = task.text_scores(["Привет, мир"], [{"summary": "Привет, мир"}])
    assert (scores["rouge_l"], scores["chrf"]) == (0.0, 100.0)
    assert task.signatures["rouge_l"].endswith("texts of other scripts have none and score 0, equal ones too")
    assert "|" in task.signatures["chrf"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert set(task.signatures) == {"rouge_l"}
    assert "chrf" not in task.text_scores(["a"], [{"summary": "a"}])
