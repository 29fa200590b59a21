"""A card knows the earlier cards of its question, and what it costs to look again."""

import json

import numpy as np
import pytest
from measured_cells import measured

from experiments.looks import simulate
from posenc_jax.drawing.markdown import refilled
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.statistics import holm
from posenc_jax.verdict import card_files
from posenc_jax.verdict.card import Card, judged, record
from posenc_jax.verdict.card_files import card_of, with_earlier, write
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.checking import check
from posenc_jax.verdict.looks import FACTOR
from posenc_jax.verdict.measuring import of_lengths
from posenc_jax.verdict.tables import tables

TABLES = {name: tables()[name].asked for name in ("even_pairs", "reverse_string", "bucket_sort")}
NOISE = np.random.default_rng(3).normal(scale=0.05, size=(2, 20))


def card(seeds, names=("even_pairs",), lead=0.05, **fields):
    """A card of seeds with scores of about 0.75, ours higher by ``lead``."""

    seeds = tuple(seeds)

    def cell(label, name):
        own = NOISE[int(label == "mine")] + 0.75 + lead * (label == "mine")
        lengths = (*TABLES[name].trained_lengths, *TABLES[name].score_lengths)
        by_length = {n: {s: 1.0 if n in TABLES[name].trained_lengths else own[s] for s in seeds} for n in lengths}
        named = {"table": name, "seeds": seeds, "config": name, "tried": {0.1: dict.fromkeys(seeds, 1.0)}}
        named["learning_rates"] = dict.fromkeys(seeds, 0.1)
        return of_lengths(TABLES[name], measured({}, label, by_length=by_length, **named))

    return judged(
        Card(
            labels=("mine",),
            baselines=("rope",),
            tables={name: TABLES[name] for name in names},
            measured={label: {name: cell(label, name) for name in names} for label in ("mine", "rope")},
            seeds=seeds,
            environments=(),
            seconds=0.0,
            **fields,
        )
    )


@pytest.fixture
def written(monkeypatch, tmp_path):
    monkeypatch.setattr(card_files, "render", lambda _: {})

    def of(own):
        own = with_earlier(own, tmp_path)
        return own, write(own, tmp_path)[-1]

    return of


def text(own):
    return " ".join(markdown_card(own).replace("\\", "").split())


def test_seeds_added_after_a_look_without_a_difference_are_judged_at_a_tenth(written):
    (first, _), (second, path) = written(card(range(4))), written(card(range(10)))
    (before,), (after,) = first.findings, second.findings
    assert before.word == "no difference seen"
    assert after.p == pytest.approx(FACTOR * after.comparison.p)
    assert after.comparison.p < 0.05 < after.p, "the word is lost to the look"
    assert after.word == "no difference seen"
    assert after.best_case.better == pytest.approx(FACTOR * card(range(10)).findings[0].best_case.better)
    said = text(second)
    assert "Earlier cards of this question: 4 seeds (0 to 3): no difference seen on even_pairs." in said
    assert "even_pairs rope at 0.005" in said
    assert "Paired seeds: 10, after earlier cards of 4 seeds." in said
    third, _ = written(card(range(20)))
    assert third.findings[0].p == pytest.approx(min(1.0, FACTOR**2 * third.findings[0].comparison.p))
    again, differs = check(path)
    assert (again.findings, differs) == (second.findings, ())


def test_what_could_not_be_told_or_had_a_word_costs_nothing(written):
    two, _ = written(card(range(2)))
    assert two.findings[0].word == "cannot be told"
    second, _ = written(card(range(10)))
    assert second.findings[0].p == second.findings[0].comparison.p
    assert second.findings[0].word == "better"
    third, _ = written(card(range(12)))
    assert third.findings[0].p == third.findings[0].comparison.p


def test_tables_of_earlier_cards_stay_in_the_correction(written):
    every, _ = written(card(range(8), tuple(TABLES)))
    one, _ = written(card(range(8), ("reverse_string",)))
    assert one.findings[0].p == every.findings[1].p
    assert one.corrected == 3
    assert "2 rows that only earlier cards have are corrected together with those above" in text(one)


def test_a_card_that_is_written_again_is_the_same(written):
    first, path = written(card(range(4)))
    kept = path.read_text()
    written(card(range(8)))
    assert written(card(range(4)))[0] == first
    assert path.read_text() == kept


def test_cards_of_other_directories_and_of_the_other_arm_are_earlier_cards(monkeypatch, tmp_path):
    monkeypatch.setattr(card_files, "render", lambda _: {})
    first = card(range(4))
    turned = judged(Card(**{**vars(first), "labels": first.baselines, "baselines": first.labels}))
    write(turned, tmp_path / "default")
    found = with_earlier(card(range(10)), tmp_path / "asked", tmp_path / "default")
    assert [(own.label, own.baseline, own.seeds, own.word) for own in found.earlier] == [
        ("mine", "rope", (0, 1, 2, 3), "no difference seen")
    ]
    assert found.findings[0].p == pytest.approx(FACTOR * found.findings[0].comparison.p)
    assert with_earlier(card(range(10)), tmp_path / "asked").earlier == ()
    assert with_earlier(turned, tmp_path / "default").earlier == (), "a card is not earlier than itself"


def test_a_card_of_another_version_is_named(written, tmp_path):
    _, path = written(card(range(4)))
    write_json(path, {**read_json(path), "schema": 3})
    later, _ = written(card(range(10)))
    assert later.earlier == ()
    assert f"cards/{path.parent.name} is of another version, so its rows are not known." in text(later)


def test_another_encoding_or_another_config_is_another_question(written, monkeypatch):
    written(card(range(4)))
    other = card(range(8))
    own = other.measured["mine"]["even_pairs"]
    changed = {**other.measured, "mine": {"even_pairs": own.__class__(**{**vars(own), "config": "another"})}}
    found, _ = written(judged(Card(**{**vars(other), "measured": changed})))
    assert found.findings[0].p == pytest.approx(2 * found.findings[0].comparison.p), "a row beside it, not a look"


def test_both_trainings_are_corrected_together():
    later = card(range(8), ("reverse_string",), lead=0.02)
    own = card(range(8), ("even_pairs", "reverse_string"), twice=later)
    first = {found.table: found.comparison.p for found in own.findings}
    wanted = holm(first | {"twice": own.twice.findings[0].comparison.p})
    assert {found.table: found.p for found in own.findings} == {name: wanted[name] for name in first}
    assert own.twice.findings[0].p == wanted["twice"]
    assert own.corrected == 3
    assert card_of(json.loads(json.dumps(record(own)))).twice.findings == own.twice.findings


def test_seeds_are_named_and_those_of_a_choice_are_called_chosen():
    assert "Means over 8 seeds (0 to 7), paired" in text(card(range(8)))
    chosen = text(card((0, 2, 3, 5, 7, 8, 9, 11)))
    assert "Paired seeds: 8 (0, 2, 3, 5, 7, 8, 9, 11, which were chosen)." in chosen
    assert "somebody chose them" in chosen
    assert "somebody chose them" not in text(card(range(8)))


def test_the_page_is_of_its_record_and_the_schedule_holds_five_percent():
    kept, page = json.loads(simulate.RECORD.read_text()), simulate.README.read_text()
    assert page == refilled(page, simulate.BEGIN, simulate.table(kept), simulate.END)
    before = {way: round(100 * own[0]) for way, own in kept["ways"].items()}
    worst, tables = (max(own for way, own in before.items() if word in way) for word in ("20", "then"))
    assert f"up to {worst} of 100 users who add seeds, and for {tables} of 100" in page
    error = (0.05 * 0.95 / kept["cards"]) ** 0.5
    for way, (alone, after) in kept["ways"].items():
        if "ablation" not in way:
            assert after <= 0.05 + 2 * error, way
        if "`--" in way and "on DIR" not in way:
            assert after < 0.05 + 2 * error < alone, way


def test_a_simulated_user_is_judged_by_the_rule():
    pools = {name: np.linspace(0.3, 0.7, 8) for name in simulate.ARMS}
    found = {way: (before, after) for way, before, after in simulate.ways(pools, np.random.default_rng(0))}
    assert found.keys() == json.loads(simulate.RECORD.read_text())["ways"].keys()
