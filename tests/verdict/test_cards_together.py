"""All cards together: aggregates and words, by loops over the committed files; the page and its pictures."""

import collections
import dataclasses
import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from documenting import together
from documenting.together_pictures import PICTURES, SIGNS, sign
from PIL import Image

from experiments.tables.results import read_results
from experiments.verdicts.together import THRESHOLDS, aggregates, matrix, published, runs, same_baseline
from posenc_jax.data.score_kinds import KINDS
from posenc_jax.drawing.paper import source_of_png
from posenc_jax.verdict.card_files import card_of
from posenc_jax.verdict.rule import LEARNED

ROOT = Path(__file__).parent.parent.parent
CARDS = sorted((ROOT / "experiments" / "verdicts").glob("*.json"))
REGENERATE = "run scripts/regenerate"


@pytest.fixture(scope="module")
def known():
    return together.known()


@pytest.fixture(scope="module")
def pair():
    """Two committed cards, and their JSON."""
    kept = [json.loads((CARDS[0].parent / f"{name}-against-rope.json").read_text()) for name in ("fire", "nope")]
    return [card_of(own) for own in kept], kept


def shares(kept, label):
    """Table -> scores of the seeds between the floor and the best, by loops over the file."""
    found = {}
    for name, table in kept["tables"].items():
        by_length, seeds = kept["measured"][label][name]["by_length"], kept["seeds"]
        found[name] = []
        floors = [table["floors"].get(str(n), table["chance"]) for n in table["score_lengths"]]
        floor = sum(floors) / len(floors)
        for seed in seeds:
            mean = sum(by_length[str(n)][str(seed)] for n in table["score_lengths"]) / len(table["score_lengths"])
            found[name].append(max(0.0, (mean - floor) / (table["best"] - floor)))
    return found


def test_aggregates_are_those_of_the_files(pair):
    cards, kept = pair
    found = {one.label: one for one in aggregates(cards)}
    assert set(found) == {"FIRE", "NoPE", "RoPE"}
    assert [one.mean.value for one in aggregates(cards)] == sorted((o.mean.value for o in found.values()), reverse=True)
    for card in kept:
        ours, theirs = shares(card, card["label"]), shares(card, "RoPE")
        every = [score for own in ours.values() for score in own]
        own = found[card["label"]]
        assert own.mean.value == pytest.approx(sum(every) / len(every), abs=1e-6), "as many seeds on every table"
        wins = [np.mean([(x > y) + 0.5 * (x == y) for x in ours[n] for y in theirs[n]]) for n in ours]
        assert own.improvement.value == pytest.approx(np.mean(wins), abs=1e-6)
        above = [sum(score > tau for score in every) / len(every) for tau in THRESHOLDS]
        assert own.profile == pytest.approx(above)
        for low, value, high in ((own.mean.low, own.mean.value, own.mean.high), (own.low, own.profile, own.high)):
            assert np.all((low <= value) & (value <= high))
    assert found["RoPE"].improvement is None
    assert same_baseline(cards)


def test_cards_of_other_tables_are_not_put_together(pair):
    cards, _ = pair
    fewer = dataclasses.replace(cards[0], tables={"copy": cards[0].tables["copy"]})
    with pytest.raises(ValueError, match="on copy, even_pairs, bucket_sort, and FIRE with RoPE on copy: put cards"):
        aggregates([fewer, cards[1]])
    endless = SimpleNamespace(kind=KINDS["perplexity"], beyond=None)
    with pytest.raises(ValueError, match="scores of copy have no best, and no place between a floor and it: leave"):
        runs(dataclasses.replace(cards[0], tables={"copy": endless}), "FIRE")


def test_the_page_says_how_many_words_hold(known):
    """At three sizes, and when all cards are corrected together; counted from the tables of both pages."""
    words = {}
    for (label, table), own in known.sizes.items():
        words.setdefault(table, []).append(len(own) == 1)
        assert label in {"nope", "sinusoidal", "learned", "alibi", "t5", "fire", "shaw"}
    every = {own.found.table: [] for own in together.verdicts.together(known.cards)}
    for own in together.verdicts.together(known.cards):
        if own.found.word in ("better", "worse", "did not learn"):
            every[own.found.table].append(own.word != "no difference seen")
    for table, own in words.items():
        held, of = sum(every[table]), len(every[table])
        said = f"{held} of {of} differences stay significant; {sum(own)} of 7 words are the same at all sizes |"
        assert said in next(line for line in together.page(known).splitlines() if line.startswith(f"| `{table}` |"))
    total = [one for own in every.values() for one in own]
    assert f"{sum(total)} of {len(total)} differences stay significant" in together.page(known)


def test_the_sentences_say_how_many_of_their_own_words_hold(known):
    """Of the encodings or rows that a sentence names, counted from the files."""
    kept = {card["label"]: card for card in (json.loads(file.read_text()) for file in CARDS)}
    firm = {(one.found.label, one.found.table): one for one in together.verdicts.together(known.cards)}
    said = [own.partition("*Not known*")[0] for own in together.sentences(known)[:3]]
    by_mean = {name for name in kept if f"[{together.named(name)}]" in said[0]}
    often = {
        one.label
        for one in known.aggregates
        if one.improvement and not one.improvement.low <= 0.5 <= one.improvement.high
    }
    rows = [[row for row in firm if row[0] in labels] for labels in (by_mean, often)]
    rows.append([row for row, one in firm.items() if one.found.learned[0] is False])
    for text, of in zip(said, rows):
        differ = [firm[row] for row in of if firm[row].found.word in ("better", "worse", "did not learn")]
        held = sum(own.word != "no difference seen" for own in differ)
        specs = [(kept[name]["measured"][name][table]["spec"].partition("(")[0], table) for name, table in of]
        sizes = [len(known.sizes[own]) == 1 for own in specs if own in known.sizes]
        assert f"{held} of {len(differ)} differences stay significant; of those trained at d32, d64 and d128, " in text
        assert f"{sum(sizes)} of {len(sizes)} words are the same at all sizes" in text


def test_arms_of_published_tables_have_words_beside_rope():
    results = read_results(ROOT / "experiments" / "tables" / "perplexity" / "results.json")
    found = {cell.label: own for cell, own in published(results)}
    assert list(found) == ["T5", "ALiBi", "DAPE-KERPLE", "NoPE"]
    for label, own in found.items():
        ours, theirs = (results.cell("python docs", name).by_metric["perplexity"] for name in (label, "RoPE"))
        lengths = (192, 256, 512, 1024)
        difference = np.mean([np.log(ours[n][s]) - np.log(theirs[n][s]) for n in lengths for s in range(4)])
        assert own.comparison.difference == pytest.approx(difference)
        assert own.word in {"better" if difference < 0 else "worse", "no difference seen", "cannot be told"}
    of_none = read_results(ROOT / "experiments" / "tables" / "addition" / "results.json")
    assert published(of_none) == ()


def test_the_matrix_has_the_words_of_the_cards(known):
    words = known.matrix
    for file in CARDS:
        kept = json.loads(file.read_text())
        for own in kept["findings"]:
            assert words.rows[kept["label"]][own["table"]].said == own["said"]
    kept = json.loads((CARDS[0].parent / "all_tables" / "pope-against-rope.json").read_text())
    assert {own["table"]: own["said"] for own in kept["findings"]} == {
        table: own.said for table, own in words.rows["PoPE (10 tables)"].items()
    }
    # The same encoding under the names of a folder; not one that has random positions where RoPE has none.
    assert {"copying: rsc", "perplexity"} <= set(words.rows["T5 bias"])
    assert {"indirect_indexing (published)"} == {*words.rows["PoPE"]} - {"copy", "even_pairs", "bucket_sort"}
    results = known.folders["randomized"]
    arms = {cell.label: own for cell, own in published(results) if cell.table == "even_pairs"}
    assert words.rows["Sinusoidal"]["randomized: even_pairs"] == arms["sinusoidal"]
    assert all(sign(own) in SIGNS for row in words.rows.values() for own in row.values())


def test_a_row_takes_the_first_of_two_arms_of_its_encoding(known):
    """DroPE is NoPE's encoding too, trained otherwise."""
    results = known.folders["needles"]
    arms = {cell.label: own for cell, own in published(results)}
    assert {cell.spec for cell in results.cells if cell.label in ("NoPE", "DroPE")} == {"nope"}
    found = matrix([(card.label, card) for _, card in known.cards if card.label == "NoPE"], {"needles": results})
    assert found.rows["NoPE"]["needles"] == arms["NoPE"] != arms["DroPE"]


def test_the_page_is_that_of_the_records(known):
    for path, text in together.texts(known).items():
        assert path.read_text() == text, REGENERATE


def test_what_an_encoder_without_positions_cannot_learn_is_not_said_to_lack_steps(known):
    """Its answers depend on counts of symbols alone; on even pairs the best of them is far from what counts as learned,
    and no better than NoPE was.
    """
    best = {}
    for length in (2, 4, 6, 8, 10):
        equal = collections.Counter()
        for bits in itertools.product((0, 1), repeat=length):
            equal[sum(bits), bits[0] == bits[-1]] += 1
        best[length] = sum(max(equal[ones, True], equal[ones, False]) for ones in range(length + 1)) / 2**length
    ceiling = sum(best.values()) / len(best)
    (card,) = (card for _, card in known.cards if card.label == "NoPE")
    assert ceiling < 0.5 + LEARNED * 0.5
    assert np.mean([*card.measured["NoPE"]["even_pairs"].in_range.values()]) < ceiling + 0.01
    assert card.tables["even_pairs"].trained_lengths == tuple(best)
    unable = [
        (one.label, own.table) for _, one in known.cards for own in one.findings if one.orderless(own.label, own.table)
    ]
    assert unable == [("NoPE", "even_pairs"), ("NoPE", "bucket_sort")]
    words = together.page(known).partition("<!-- together: words -->")[2]
    assert words.count("NoPE cannot learn the task with any number of steps") == 2
    assert re.search(
        r"NoPE\][^)]*\) \(`even_pairs` and `bucket_sort`\), which in an encoder cannot tell positions",
        together.sentences(known)[2],
    )
    readme = (ROOT / "experiments" / "verdicts" / "README.md").read_text()
    assert "teaches it these tables: NoPE on `even_pairs` and `bucket_sort`.\n" in readme


def test_pictures_show_the_records_and_are_as_wide_as_a_phone(known):
    assert together.pictures(known) == {}, REGENERATE
    for name in PICTURES:
        path = together.FOLDER / f"{name}.png"
        assert source_of_png(path) == together.digest_of(known)
        with Image.open(path) as picture:
            assert picture.width / 390 == pytest.approx(2.5, rel=0.02)
    assert source_of_png(together.FOLDER / "none.png") == ""
