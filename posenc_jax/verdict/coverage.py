"""How often a card's intervals contain the true difference: what a simulation found for scores like those at hand."""

import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from posenc_jax.verdict.card import Card
from posenc_jax.verdict.finding import Finding, listed

Kind = Literal["inside", "mixed", "ends", "shares", "losses"]
"""Scores between their bounds, also where a fifth of the seeds does something else than the others; with seeds at a
bound, and those of which a card says the share that solves the task; losses.
"""
FILE = Path(__file__).with_name("coverage.json")
"""Kind -> pairs of seeds -> the least and the most coverage in percent, written by ``experiments/intervals``."""


@functools.cache
def simulated() -> Mapping[Kind, Mapping[str, tuple[float, float]]]:
    """The content of `FILE`."""
    found: Mapping[Kind, Mapping[str, tuple[float, float]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def coverage(card: Card) -> str:
    """A sentence on the kinds of scores of a card, by the simulation of as many seeds, or of the next fewer; with two
    seeds, of the fewest that were simulated.

    >>> sorted(simulated()["inside"], key=int)
    ['3', '4', '5', '8', '10']
    """
    numbers = sorted(map(int, simulated()["inside"]))
    seeds = max((number for number in numbers if number <= len(card.seeds)), default=numbers[0])

    def held(kind: Kind) -> str:
        return "{:.1f} to {:.1f} %".format(*simulated()[kind][str(seeds)])

    said: dict[Kind, str] = {
        "inside": f"for scores within their bounds in {held('inside')} of repeats ({held('mixed')} where a fifth of "
        "the seeds behaves differently)",
        "ends": f"for scores with seeds at a bound in {held('ends')}",
        "losses": f"for losses in {held('losses')}",
        "shares": f"for shares of seeds that solve the task in {held('shares')}",
    }
    here = {_kind(card, own) for own in card.findings}
    parts = listed([own for kind, own in said.items() if kind in here])
    return f"In simulations of {seeds} seeds (scripts/docs/intervals.md) such intervals held the true value {parts}."


def _kind(card: Card, found: Finding) -> Kind:
    lower, upper = card.kinds[found.table].bounds
    if found.solved is not None:
        return "shares"
    if math.isinf(upper):
        return "losses"
    arms = (card.measured[label][found.table].scored(found.way) for label in (found.label, found.baseline))
    return "ends" if any(score in (lower, upper) for scores in arms for score in scores.values()) else "inside"
