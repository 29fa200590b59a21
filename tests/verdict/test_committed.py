"""The page of committed verdicts says what their records say."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from measured_cells import measured

from posenc_jax.config import config_hash
from posenc_jax.data.score_kinds import kind_of
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


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.json")), ids=lambda file: file.stem)
def test_the_page_is_of_the_record(file):
    page, found = (FOLDER / "README.md").read_text(), json.loads(file.read_text())
    for finding in found["findings"]:
        start = f"| {found['label']} | {finding['baseline']} | `{finding['table']}` |"
        (row,) = (line for line in page.splitlines() if line.startswith(start))
        assert f" | {finding['said']} | " in row
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
            tables = {name: TABLES[name].asked for name in by_table}
            for _ in range(25):
                ours, theirs = (
                    {name: measured(rng.choice(list(own["scores"].values()), 8)) for name, own in by_table.items()}
                    for _ in range(2)
                )
                found = findings(tables, {"arm": ours}, {"itself": theirs})
                said.append(any(own.word in ("better", "worse") for own in found))
    assert len(said) >= 500
    assert np.mean(said) <= 0.05 + 3 * (0.05 * 0.95 / len(said)) ** 0.5


@pytest.mark.parametrize("name", ["pope-against-rope", "all_tables/pope-against-rope"])
def test_the_card_that_is_shown_is_of_its_record(name):
    card, found = (FOLDER / f"{name}.md").read_text(), json.loads((FOLDER / f"{name}.json").read_text())
    assert card == markdown_card(card_of(found))
    for finding in found["findings"]:
        compared, kind = finding["comparison"], kind_of(found["tables"][finding["table"]]["metric"])
        name = finding["table"].replace("_", r"\_")
        assert f"| {name} | {finding['said']} | " in card
        low, high = (kind.show(kind.outer(compared[side])) for side in ("low", "high"))
        assert f"[{low}, {high}]" in card or finding["word"] == "not measurable here"
    minutes = f"{found['seconds'] / 60:.0f}"
    assert f"Minutes of all runs: {minutes}" in card
    assert f"\n{minutes} minutes of runs on one CPU core" in (FOLDER / "README.md").read_text()


def test_times_and_commits_of_a_row_are_of_all_its_runs():
    page = (FOLDER / "README.md").read_text()
    for path in FOLDER.glob("*.json"):
        card = json.loads(path.read_text())
        parts = [card, card["twice"]] if card["twice"] else [card]
        (last,) = re.findall(rf"^\| .*\({path.name}\).* \| (.*) \|$", page, re.MULTILINE)
        commits, minutes = last.rsplit(", ", 1)
        assert minutes == f"{sum(part['seconds'] for part in parts) / 60:.0f} min"
        assert {*commits.split(" and ")} == {own["commit"][:8] for part in parts for own in part["environments"]}


def test_the_page_tells_how_far_seeds_repeat():
    found, earlier = (
        json.loads((FOLDER / folder / "pope-against-rope.json").read_text()) for folder in ("all_tables", "repeats")
    )
    page = (FOLDER / "README.md").read_text()
    for label, by_table in found["measured"].items():
        for name, new in by_table.items():
            old, show = earlier["measured"][label][name], kind_of(found["tables"][name]["metric"]).show
            same = [seed for seed, rate in new["learning_rates"].items() if old["learning_rates"][seed] == rate]
            moved = [abs(new["scores"][seed] - old["scores"][seed]) for seed in same]
            means = [show(np.mean([*own["scores"].values()])) for own in (old, new)]
            spread = [show(np.mean(moved)), show(max(moved))] if moved else ["-", "-"]
            cells = (label, f"`{name}`", *means, f"{len(same)} of 8", *spread)
            assert f"| {' | '.join(cells)} |" in page


def test_the_card_on_all_tables_asks_all():
    found = json.loads((FOLDER / "all_tables" / "pope-against-rope.json").read_text())
    assert list(found["tables"]) == list(TABLES)
    assert len(found["seeds"]) == 8
    later = found["twice"]["seconds"] / 3600
    hours = found["seconds"] / 3600 + later
    assert f"and {found['twice']['seconds'] / 60:.0f} with twice the steps" in (FOLDER / "README.md").read_text()
    guide = (FOLDER.parent.parent / "scripts" / "docs" / "guides" / "idea-to-verdict.md").read_text()
    assert f"which took {hours:.1f} hours of runs for the same two, {later:.1f} of them the second training of" in guide
    assert "training of four tables with twice the steps" in guide
    assert len(found["twice"]["tables"]) == 4
    quick = json.loads((FOLDER / "pope-against-rope.json").read_text())
    for label, by_table in quick["measured"].items():
        assert all(found["measured"][label][name]["by_length"] == own["by_length"] for name, own in by_table.items())
    words = {own["table"]: own for own in found["findings"]}
    seen = {name: own["word"] for name, own in words.items() if own["word"] in ("better", "worse")}
    assert seen == {"bucket_sort": "worse", "reverse_string": "better"}
    assert f"{words['reverse_string']['p']:.3f}" == "0.035"
    assert {own["word"] for own in words["reverse_string"]["ranges"]} <= {"no difference seen", "not measurable here"}
    parity = words["parity"]
    assert (parity["learned_with_twice"], parity["unseen_with_twice"]) == ([True, True], "better")
    assert parity["said"].endswith("; with twice the steps: no difference seen, a better arm could not have been seen)")
    assert "(a worse arm could not have been seen) on copy_digits" in card_of(found).headline[0]
    for name in ("counting", "flip_flop", "indirect_indexing"):
        assert words[name]["learned_with_twice"] == [False, False]


@pytest.mark.parametrize(("name", "digest"), RUNS.items())
def test_the_tables_are_those_of_the_committed_cards(name, digest):
    """They derive from the runs of published comparisons: a change there changes what a card is compared with."""
    assert config_hash(TABLES[name].run) == digest


def test_on_copies_validation_chooses_no_learning_rate():
    assert (
        "On `copy` both learning rates share the best validation score for every seed of every arm"
        in (FOLDER / "README.md").read_text()
    )
    for path in FOLDER.glob("*.json"):
        card = json.loads(path.read_text())
        for by_table in card["measured"].values():
            first, second = by_table["copy"]["tried"].values()
            assert [first[str(seed)] for seed in card["seeds"]] == [second[str(seed)] for seed in card["seeds"]]


def test_the_page_counts_the_rows_on_which_both_protocols_agree():
    """A row that is not measurable, or was not learned, is read as what its test says."""
    tested = {"did not learn": "worse", "not measurable here": "no difference seen"}
    cards = [card_of(json.loads(path.read_text())) for path in sorted(FOLDER.glob("*.json"))]
    rows = [own for card in cards for own in card.findings]
    other = {
        (card.label, own.table)
        for card in cards
        for own in card.findings
        if own.two_tests.word != tested.get(own.word, own.word)
    }
    assert f"{len(rows) - len(other)} of the {len(rows)} rows agree" in (FOLDER / "README.md").read_text()
    page = (FOLDER.parent.parent / "scripts" / "docs" / "protocols.md").read_text()
    assert other == {("Sinusoidal", "even_pairs")}
    assert "Sinusoidal on `even_pairs` is" in page


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
    assert below.x.title.startswith("PoPE minus RoPE, ")
