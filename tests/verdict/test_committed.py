"""The page of committed verdicts says what their records say."""

import json
from pathlib import Path

import numpy as np
import pytest

from posenc_jax.verdict.judging import findings
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.tables import TABLES

FOLDER = Path(__file__).parent.parent.parent / "experiments" / "verdicts"


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_the_page_is_of_the_record(file):
    page, found = (FOLDER / "README.md").read_text(), json.loads(file.read_text())
    assert found["verdict"]
    for sentence in found["verdict"]:
        assert sentence in page.replace("\\", "")
    for finding in found["findings"]:
        start = f"| {found['label']} | {finding['baseline']} | `{finding['table']}` |"
        (row,) = (line for line in page.splitlines() if line.startswith(start))
        assert f" | {finding['word']} | " in row
        for label in (found["label"], finding["baseline"]):
            scores = found["measured"][label][finding["table"]]["scores"].values()
            assert f"{sum(scores) / len(scores):.3f}" in row


def test_an_encoding_is_not_better_than_itself():
    """Cards of an arm against itself, both of 8 seeds drawn from its stored scores, which are of a learning rate that
    each seed chose for itself: 5 of 100 say that anything differs, but for 3 standard errors of the simulation.
    """
    rng, said = np.random.default_rng(0), []
    for file in sorted(FOLDER.glob("*.json")):
        for by_table in json.loads(file.read_text())["measured"].values():
            tables = {name: TABLES[name] for name in by_table}
            for _ in range(25):
                ours, theirs = (
                    {name: _arm(rng.choice(list(own["scores"].values()), 8)) for name, own in by_table.items()}
                    for _ in range(2)
                )
                found = findings(tables, ours, {"itself": theirs})
                said.append(any(own.word in ("better", "worse") for own in found))
    assert len(said) >= 500
    assert np.mean(said) <= 0.05 + 3 * (0.05 * 0.95 / len(said)) ** 0.5


def _arm(scores):
    return Measured("x", "x", {}, {}, {}, dict(enumerate(scores)), {}, {}, (), None, 0.0, 1, 0, "")


def test_the_card_that_is_shown_is_of_its_record():
    card, found = (
        (FOLDER / "pope-against-rope.md").read_text(),
        json.loads((FOLDER / "pope-against-rope.json").read_text()),
    )
    assert all(sentence in card for sentence in found["verdict"])
    for finding in found["findings"]:
        compared = finding["comparison"]
        name = finding["table"].replace("_", r"\_")
        assert f"| {name} | {finding['word']} | " in card
        assert f"[{compared['low']:.3f}, {compared['high']:.3f}]" in card
    assert f"All runs together: {found['seconds'] / 60:.0f} minutes" in card
