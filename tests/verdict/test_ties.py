"""Of learning rates that tie in validation the one with the lowest loss there is taken, and a card says so."""

import dataclasses
import json

import pytest

from posenc_jax.drawing.quantities import p_value
from posenc_jax.results.record import ReplicaScores
from posenc_jax.verdict.card import Card, judged, record
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.measuring import Measured, with_ties
from posenc_jax.verdict.tables import tables

ASKED = tables()["even_pairs"].asked
SEEDS, RATES = tuple(range(8)), (5e-4, 1e-3)
SCORES = {"mine": {5e-4: 0.6, 1e-3: 0.9}, "rope": {5e-4: 0.7, 1e-3: 0.8}}


def arm(label, losses):
    """Every seed has 1.0 in validation at both rates; ``losses``: of both, if they are kept."""

    def replica(seed, rate):
        score = SCORES[label][rate] + 0.002 * (seed * (3 if label == "mine" else 5) % 8)
        by_length = {n: 1.0 if n in ASKED.trained_lengths else score for n in ASKED.trained_lengths}
        by_length |= dict.fromkeys(ASKED.score_lengths, score)
        loss = losses and losses[RATES.index(rate)]
        return ReplicaScores(seed, rate, 1.0, True, every_score={"accuracy": by_length}, validation_loss=loss)

    names = dict(table="even_pairs", label=label, spec=label, config="", num_parameters=1, num_posenc_parameters=0)
    fields = dict(seeds=SEEDS, rates=RATES, metrics=("accuracy",), seconds=0.0, memory="", question="")
    replicas = [replica(seed, rate) for seed in SEEDS for rate in RATES]
    return with_ties(ASKED, *(Measured.of(replicas, **fields, **names, last=last) for last in (False, True)))


def card(losses):
    return judged(
        Card(
            labels=("mine",),
            baselines=("rope",),
            tables={"even_pairs": ASKED},
            measured={label: {"even_pairs": arm(label, losses)} for label in SCORES},
            seeds=SEEDS,
            environments=(),
            seconds=0.0,
        )
    )


@pytest.mark.parametrize(
    ("losses", "taken", "words", "why"),
    [
        (None, 5e-4, ("worse", "better"), "of which the lowest, as no losses were kept, is taken"),
        ((0.02, 0.01), 1e-3, ("better", "worse"), "of which the one with the lowest loss in validation is taken"),
        ((0.01, 0.02), 5e-4, ("worse", "better"), "of which the one with the lowest loss in validation is taken"),
    ],
)
def test_the_lowest_loss_decides_and_the_other_word_is_told(losses, taken, words, why):
    own = card(losses)
    cell = own.measured["mine"]["even_pairs"]
    assert cell.learning_rates == dict.fromkeys(SEEDS, taken)
    assert cell.tied == SEEDS
    assert (own.findings[0].word, *(found.word for found in own.otherwise)) == words
    said = " ".join(markdown_card(own).replace("\\", "").split())
    assert f"{why}: mine on even_pairs (8 of 8 seeds), rope on even_pairs (8 of 8 seeds)." in said
    of_other = f"{words[1]} (p {p_value(own.otherwise[0].p)})"
    assert f"With the one of them that would be taken last: even_pairs {of_other}, " in said
    again = card_of(json.loads(json.dumps(record(own))))
    assert (again.findings, again.otherwise) == (own.findings, own.otherwise)


def test_without_a_tie_nothing_is_said():
    own = card((0.02, 0.01))
    cells = {
        label: {name: dataclasses.replace(cell, tried={1e-3: cell.tried[1e-3]}, otherwise={})}
        for label, by_table in own.measured.items()
        for name, cell in by_table.items()
    }
    own = judged(dataclasses.replace(own, measured=cells))
    assert own.otherwise == ()
    assert "share the best score" not in markdown_card(own)
