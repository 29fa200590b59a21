"""A card says how often the intervals that it shows held the truth in the simulation."""

import pytest
from measured_cells import measured

from posenc_jax.verdict.card import Card, judged
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.coverage import coverage, simulated
from posenc_jax.verdict.question import KeptQuestion

INSIDE = (0.5, 0.6, 0.55, 0.7)
SAID = {
    "inside": "for scores within their bounds in {} of repeats ({} where a fifth of the seeds behaves differently)",
    "ends": "for scores with seeds at a bound in {}",
    "losses": "for losses in {}",
    "shares": "for shares of seeds that solve the task in {}",
}


def card(metric, ours, theirs, table="copy"):
    asked = KeptQuestion("", "", metric, None, (2,), (4,))
    arms = {
        label: {table: measured(dict(enumerate(scores)), label, by_length={4: dict(enumerate(scores))})}
        for label, scores in (("mine", ours), ("rope", theirs))
    }
    seeds = tuple(range(len(ours)))
    return judged(Card(("mine",), ("rope",), {table: asked}, arms, seeds, (), 0.0))


def held(kind, seeds):
    low, high = simulated()[kind][str(seeds)]
    return f"{low} to {high} %"


@pytest.mark.parametrize(
    ("kind", "metric", "ours", "theirs"),
    [
        ("inside", "accuracy", INSIDE, INSIDE[::-1]),
        ("ends", "accuracy", INSIDE, (0.5, 1.0, 0.6, 0.7)),
        ("losses", "perplexity", (5.0, 6.0, 5.5, 7.0), (4.0, 4.5, 4.2, 4.4)),
        ("losses", "loss", (5.0, 6.0, 5.5, 7.0), (4.0, 4.5, 4.2, 4.4)),
        ("shares", "accuracy", (1.0, 0.0, 1.0, 1.0), (0.0, 0.0, 0.1, 0.0)),
    ],
)
def test_the_kind_of_scores_decides(kind, metric, ours, theirs):
    kinds = (kind, "mixed") if kind == "inside" else (kind,)
    said = SAID[kind].format(*(held(own, 4) for own in kinds))
    found = card(metric, ours, theirs)
    assert (
        coverage(found)
        == f"In simulations of 4 seeds (scripts/docs/intervals.md) such intervals held the true value {said}."
    )
    assert coverage(found) in markdown_card(found)


@pytest.mark.parametrize(("seeds", "simulated_with"), [(2, 3), (7, 5), (8, 8), (50, 10)])
def test_the_next_fewer_seeds_are_those_of_the_simulation(seeds, simulated_with):
    found = card("accuracy", *(tuple(0.5 + 0.01 * (seed * k % 7) for seed in range(seeds)) for k in (1, 3)))
    assert f"of {simulated_with} seeds" in coverage(found)
    assert held("inside", simulated_with) in coverage(found)
