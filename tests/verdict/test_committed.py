"""The page of committed verdicts says what their records say."""

import json
from pathlib import Path

import numpy as np
import pytest
from measured_cells import measured

from posenc_jax.config import config_hash
from posenc_jax.drawing.style import styles
from posenc_jax.verdict import figure
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.card_tables import markdown_card
from posenc_jax.verdict.rule import findings
from posenc_jax.verdict.tables import tables as all_tables

TABLES = all_tables()
RUNS = {
    "copy": "ce25c655",
    "copy_digits": "5634138a",
    "flip_flop": "2ca60c9a",
    "even_pairs": "67349ab4",
    "bucket_sort": "ded4974b",
    "reverse_string": "a89ae10d",
    "parity": "e774ac8c",
    "counting": "49c54ec0",
    "arrow_grid": "4e61ca02",
    "indirect_indexing": "2835f649",
}

FOLDER = Path(__file__).parent.parent.parent / "experiments" / "verdicts"


def test_an_encoding_is_not_better_than_itself():
    """Cards of an arm against itself, both of 8 seeds drawn from its stored scores, which are of a learning rate that
    each seed chose for itself: 5 of 100 say that anything differs, but for 3 standard errors of the simulation.
    """
    rng, said = np.random.default_rng(0), []
    for file in sorted(FOLDER.glob("*.json")):
        for by_table in json.loads(file.read_text())["measured"].values():
            tables = {name: TABLES[name].asked for name in by_table}
            for _ in range(10):
                ours, theirs = (
                    {name: measured(rng.choice(list(own["scores"].values()), 8)) for name, own in by_table.items()}
                    for _ in range(2)
                )
                found = findings(tables, {"arm": ours}, {"itself": theirs})
                said.append(any(own.word in ("better", "worse") for own in found))
    assert len(said) >= 200
    assert np.mean(said) <= 0.05 + 3 * (0.05 * 0.95 / len(said)) ** 0.5


@pytest.mark.parametrize("name", ["pope-against-rope", "all_tables/pope-against-rope"])
def test_the_card_that_is_shown_is_of_its_record(name):
    card, found = (FOLDER / f"{name}.md").read_text(), json.loads((FOLDER / f"{name}.json").read_text())
    assert card == markdown_card(card_of(found))
    minutes = f"{found['seconds'] / 60:.0f}"
    assert f"Minutes of all runs: {minutes}" in card
    assert f"\n{minutes} minutes of runs on one CPU core" in (FOLDER / "README.md").read_text()


@pytest.mark.parametrize(("name", "digest"), RUNS.items())
def test_the_tables_are_those_of_the_committed_cards(name, digest):
    """They derive from the runs of published comparisons: a change there changes what a card is compared with."""
    assert config_hash(TABLES[name].run) == digest


def test_a_picture_says_where_lower_is_better():
    card = card_of(json.loads((FOLDER / "all_tables" / "pope-against-rope.json").read_text()))
    style = styles(card.arms)
    panels = {name: figure._curves(card, name, style) for name in card.tables}
    assert [name for name, panel in panels.items() if panel.y.title == "lower is better"] == ["flip_flop"]
    assert {name: panel.x.names for name, panel in panels.items() if panel.x.ticks} == {
        "flip_flop": ("64",),
        "arrow_grid": ("5",),
    }
    below = figure._differences(card)
    assert "flip_flop (lower is better)" in {row.name for row in below.rows}
    assert below.x.title.startswith("PoPE minus RoPE")
    assert max(map(len, below.x.title.split("\n"))) < 60, "what 390 pixels show of it"
