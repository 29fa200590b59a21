"""What an arm did not learn is trained once more with twice the steps, and the card has both words."""

import dataclasses
import json

import pytest
from measured_cells import measured
from trained_runs import Notes

from posenc_jax.cli import main
from posenc_jax.drawing.quantities import p_value
from posenc_jax.encodings import parse
from posenc_jax.verdict import deciding
from posenc_jax.verdict.card import record
from posenc_jax.verdict.card_tables import table
from posenc_jax.verdict.deciding import decide
from posenc_jax.verdict.measuring import of_lengths
from posenc_jax.verdict.tables import RATES, tables

TABLES = {name: tables()[name] for name in ("copy", "even_pairs")}
STEPS = TABLES["even_pairs"].run.training.steps
SEEDS = tuple(range(8))
NOISE = (0.00, 0.02, -0.01, 0.01, -0.02, 0.03, -0.03, 0.00)
LEARNED, UNLEARNED = (0.97, 0.8), (0.7, 0.6)  # within the training lengths, and beyond
SAID = "did not learn the task at this budget"


@pytest.fixture
def decided(monkeypatch, tmp_path):
    """A verdict in which an arm does not learn even_pairs, ours unless another is given, with what it scores there
    after twice the steps; all that is trained, in order, and what is told.
    """

    def of(twice, by="mine", first=UNLEARNED, **more):
        trained, heard = [], Notes()

        def measure(table, slot, label, directory, *, seeds, **_):
            steps, lengths = table.run.training.steps, table.run.evaluation.lengths
            trained.append((table.name, label, steps, table.published))
            means = first if (table.name, label, steps) == ("even_pairs", by, STEPS) else LEARNED
            means = twice if (label, steps) == (by, 2 * STEPS) else means
            own = NOISE if label == "mine" else NOISE[::-1]
            by_length = {
                n: {s: min(1.0, means[n not in table.asked.trained_lengths] + own[s]) for s in seeds} for n in lengths
            }
            return of_lengths(table.asked, measured({}, label, table=table.name, by_length=by_length, seeds=seeds))

        monkeypatch.setattr(deciding, "measure", measure)
        monkeypatch.setattr(deciding, "histories", lambda *_: ({}, True))
        card = decide(
            {"mine": parse("alibi")}, {"rope": parse("rope")}, TABLES, tmp_path, seeds=SEEDS, reporter=heard, **more
        )
        return card, trained, heard.notes

    return of


@pytest.mark.parametrize(
    ("twice", "word"),
    [
        ((0.97, 0.9), "better"),
        ((0.7, 0.6), "did not learn"),
    ],
)
def test_the_arms_of_that_table_are_trained_once_more(decided, twice, word):
    card, trained, notes = decided(twice)
    again = [("even_pairs", label, 2 * STEPS, False) for label in ("rope", "mine")]
    assert trained[-2:] == again, "without scores by checkpoint and temperature"
    assert [own[2] for own in trained[:-2]].count(2 * STEPS) == 0
    assert "not learned: even_pairs by mine; so mine beside rope once more with twice the steps on even_pairs" in notes
    (found,) = (own for own in card.findings if own.table == "even_pairs")
    assert (found.word, found.with_twice) == ("did not learn", word)
    assert found.said == f"{SAID} (with twice the steps: {word})"
    assert f"{SAID} (with twice the steps: {word}) on even_pairs" in card.sentences[0]
    assert f"{SAID} (with twice the steps: {word}) on even_pairs (p < 0.001)" in card.headline[0]
    p = next(row[6] for row in table(card).entries if row[0] == "even_pairs")
    assert p == f"< 0.001 ({p_value(card.twice.findings[0].p)})"
    assert card.twice is not None
    assert (card.twice.tables["even_pairs"].steps, card.tables["even_pairs"].steps) == (2 * STEPS, STEPS)


@pytest.mark.parametrize(
    ("by", "first", "limit", "words"),
    [
        ("mine", (0.7, 0.95), "task not learned", ("better", "worse")),
        ("rope", (0.7, 0.8), "task not learned by rope", ("no difference seen", "better")),
    ],
)
def test_whatever_its_word_and_whichever_arm_did_not_learn(decided, by, first, limit, words):
    card, trained, notes = decided((0.97, 0.6), by=by, first=first)
    assert trained[-2:] == [("even_pairs", label, 2 * STEPS, False) for label in ("rope", "mine")]
    assert any(line.startswith(f"not learned: even_pairs by {by}; so mine beside rope") for line in notes)
    (found,) = (own for own in card.findings if own.table == "even_pairs")
    assert (found.word, found.with_twice) == words
    assert found.said == f"{words[0]} ({limit}; with twice the steps: {words[1]})"
    assert f"{found.said} on even_pairs" in card.headline[0].replace("that 8 seeds can see", "seen")


def test_an_arm_that_cannot_learn_is_not_trained_again(decided, monkeypatch):
    monkeypatch.setattr(deciding.Card, "orderless", lambda _, label, table: (label, table) == ("mine", "even_pairs"))
    card, trained, _ = decided(LEARNED)
    assert card.twice is None
    assert {own[2] for own in trained if own[0] == "even_pairs"} == {STEPS}


def test_the_second_training_begins_with_the_grid_that_has_grown(decided, monkeypatch):
    grown, asked = (5e-4, 1e-3, 2e-3), []

    def wider(table, _):
        asked.append((table.name, table.run.training.steps, table.run.learning_rates))
        run = dataclasses.replace(table.run, learning_rates=grown)
        return None if run == table.run else dataclasses.replace(table, run=run)

    monkeypatch.setattr(deciding, "_wider", wider)
    decided(LEARNED)
    assert [own[1:] for own in asked if own[0] == "even_pairs"] == [
        *((STEPS, RATES), (STEPS, grown)),
        (2 * STEPS, grown),
    ]


def test_once_trains_nothing_again(decided):
    card, trained, _ = decided(LEARNED, once=True)
    assert {own[2] for own in trained if own[0] == "even_pairs"} == {STEPS}
    assert (card.twice, {own.with_twice for own in card.findings}) == (None, {None})
    assert f"{SAID} on even_pairs" in card.sentences[0]


@pytest.fixture
def checked(decided, tmp_path, capsys):
    """The lines of a check of such a card after a change, with its exit code."""

    def of(change=lambda kept: None):
        path, kept = tmp_path / "card.json", json.loads(json.dumps(record(decided((0.97, 0.6))[0])))
        change(kept)
        path.write_text(json.dumps(kept))
        capsys.readouterr()
        code = main(["verdict", "--check", str(path)])
        return code, capsys.readouterr().err.replace(f"posenc: {path}: ", "").splitlines()[1:]

    return of


def test_a_check_recomputes_both_words(checked):
    def word(kept):
        next(own for own in kept["findings"] if own["table"] == "even_pairs")["with_twice"] = "better"

    def score(kept):
        kept["twice"]["measured"]["mine"]["even_pairs"]["by_length"]["12"]["3"] = 0.1

    whole, altered, moved = checked(), checked(word), checked(score)
    assert whole[1] == []
    assert altered == (
        1,
        ["findings mine on even_pairs against rope, final: with_twice: the scores give worse, the card says better"],
    )
    assert moved[0] == 1
    assert any(line.startswith("twice: measured: mine: even_pairs: scores: 3: the scores give") for line in moved[1])
