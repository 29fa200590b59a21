"""The page on files names every member of a card's JSON, and none that there is not."""

import json
import re
from pathlib import Path

import pytest

from posenc_jax.statistics import Share
from posenc_jax.verdict.card import SCHEMA, record
from posenc_jax.verdict.card_files import card_of

ROOT = Path(__file__).parent.parent.parent
CARDS = [
    ROOT / "experiments" / "verdicts" / "nope-against-rope.json",  # trained with twice the steps too
    ROOT / "experiments" / "verdicts" / "all_tables" / "pope-against-rope.json",  # scored in other ways too
    ROOT / "experiments" / "own_questions" / "inflection.json",  # several encodings
]
BY_DATA = {
    "card": {"measured", "tables", "findings", "otherwise", "environments", "earlier", "twice"},
    "table": {"length_names", "floors"},
    "cell": {"learning_rates", "tried", "losses", "draws", "scores", "in_range", "by_length", "otherwise"},
}
"""Members whose own members are named by data, such as seeds, or are in another table of the page."""


def members(value, kind, place=""):
    """The names with dots of all members of a JSON value, but for those that are data."""
    if place in BY_DATA.get(kind, ()):
        return {place}
    if isinstance(value, list):
        return {place}.union(*(members(own, kind, f"{place}[]") for own in value))
    if isinstance(value, dict):
        dot = "." if place else ""
        return {place}.union(*(members(own, kind, f"{place}{dot}{name}") for name, own in value.items()))
    return {place}


def members_of_card(card):
    """Kind of object -> the names of its members, in a record and in that with twice the steps."""
    cells = [cell for by_table in card["measured"].values() for cell in by_table.values()]
    objects = {
        "card": [card],
        "table": card["tables"].values(),
        "cell": cells,
        "environment": card["environments"],
        "finding": card["findings"] + card["otherwise"],
    }
    found = {kind: set().union(*(members(own, kind) for own in every)) for kind, every in objects.items()}
    again = members_of_card(card["twice"]) if card["twice"] else {}
    return {kind: names | again.get(kind, set()) for kind, names in found.items()}


def documented():
    """Kind of object -> the names in the first column of its table on the page."""
    page = (ROOT / "scripts" / "docs" / "reference" / "files.md").read_text().partition("## The card of a verdict")[2]
    tables = re.findall(r"^\| member of an? (\w+) \|.*\n\|--\|--\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    return {kind: set(re.findall(r"`([\w.\[\]]+)`", re.sub(r"(?m)(?<=`) \|.*", "", rows))) for kind, rows in tables}


def named(names):
    """The names without those of whole objects and of entries of lists."""
    return {name for name in names if name and not name.endswith("[]")}


@pytest.fixture(scope="module")
def found():
    each = [members_of_card(json.loads(json.dumps(record(card_of(json.loads(path.read_text())))))) for path in CARDS]
    return {kind: named(set().union(*(own[kind] for own in each))) for kind in each[0]}


@pytest.mark.parametrize("kind", ["card", "table", "cell", "environment", "finding"])
def test_every_member_is_on_the_page(found, kind):
    of_ranges = {name for name in found[kind] if name.startswith("ranges[].comparison.")}
    assert {name.removeprefix("ranges[].") for name in of_ranges} <= found[kind], "they are those of the row"
    others = {"finding": {f"solved[].{name}" for name in Share._fields}, "card": {"checksum"}}.get(kind, set())
    assert documented()[kind] == (found[kind] | others) - of_ranges


def test_the_version_is_on_the_page():
    page = (ROOT / "scripts" / "docs" / "reference" / "files.md").read_text()
    assert f"is `schema`, at present {SCHEMA} (" in page


def test_a_mean_that_no_seed_has_is_null():
    kept = json.loads(CARDS[0].read_text())
    of_copy = kept["measured"]["NoPE"]["copy"]["by_length"]
    for seed in range(8):  # each seed lacks one of the trained lengths
        del of_copy[("2", "4", "6", "8")[seed % 4]][str(seed)]
    text = json.dumps(record(card_of(kept)), allow_nan=False)
    within = json.loads(text)["findings"][0]["ranges"][0]
    assert (within["place"], within["means"][0]) == ("within", None)
