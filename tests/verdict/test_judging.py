"""From scores to words."""

import pytest
from measured_cells import measured

from posenc_jax.verdict.finding import sentence
from posenc_jax.verdict.rule import findings
from posenc_jax.verdict.tables import tables as all_tables

TABLES = {name: own.asked for name, own in all_tables().items()}

COPY, EVEN = TABLES["copy"], TABLES["even_pairs"]
NOISE = (0.00, 0.02, -0.01, 0.01, -0.02, 0.03, -0.03, 0.00)


def scored(mean, noise=NOISE, by_length=None):
    return measured([mean + own for own in noise], by_length=by_length)


def words(ours, theirs, tables=None):
    tables = tables or dict.fromkeys(ours, COPY)
    return {f.table: f.word for f in findings(tables, {"mine": ours}, {"rope": theirs})}


def test_what_is_said_of_differences():
    ours = {"a": scored(0.6), "b": scored(0.3), "c": scored(0.5, NOISE[::-1])}
    theirs = {"a": scored(0.5, NOISE[::-1]), "b": scored(0.5, NOISE[::-1]), "c": scored(0.5)}
    found = words(ours, theirs)
    assert found == {"a": "better", "b": "worse", "c": "no difference seen"}
    assert words(theirs, ours) == {"a": "worse", "b": "better", "c": "no difference seen"}


def test_where_there_is_no_room_for_a_difference():
    ours, theirs = {"a": scored(0.505, (0.0, 0.001))}, {"a": scored(0.51, (0.001, 0.0))}
    assert words(ours, theirs, {"a": EVEN}) == {"a": "not measurable here"}
    assert words(ours, theirs) == {"a": "no difference seen"}, "copying has no such chance"
    ours, theirs = {"a": scored(0.99, (0.0, 0.001))}, {"a": scored(1.0, (0.0, 0.0))}
    assert words(ours, theirs) == {"a": "not measurable here"}
    few = {"a": scored(0.2, (0.0,))}
    assert words(few, {"a": scored(0.9)}) == {"a": "not measurable here"}


def test_seeds_are_paired():
    """A spread that both sides share takes no part."""
    spread = (0.0, 0.3, -0.3, 0.2, -0.2, 0.1, -0.1, 0.25)
    ours = {"a": scored(0.55, [own + 0.3 * noise for own, noise in zip(spread, NOISE, strict=True)])}
    theirs = {"a": scored(0.5, spread)}
    assert words(ours, theirs)["a"] == "better"
    assert words(ours, {"a": scored(0.5, spread[::-1])})["a"] == "no difference seen"


def test_all_tables_are_corrected_together():
    noisy = (0.00, 0.12, -0.08, 0.03, -0.10, 0.12, -0.06, 0.02)
    flat = scored(0.5, (0.0,) * 8)
    one = findings({"a": COPY}, {"mine": {"a": scored(0.58, noisy)}}, {"rope": {"a": flat}})[0]
    assert one.p == one.comparison.p < 0.05
    assert one.word == "better"
    names = "abcdefghij"
    many = findings(
        dict.fromkeys(names, COPY),
        {"mine": {"a": scored(0.58, noisy)} | {name: scored(0.5, noisy) for name in names[1:]}},
        {"rope": dict.fromkeys(names, flat)},
    )
    assert many[0].p == pytest.approx(min(1, 10 * one.p))
    assert {finding.word for finding in many} == {"cannot be told"}, "of a flat baseline ten rows ask for more seeds"


def test_a_table_that_turns_out_not_to_be_measurable_counts_in_the_correction():
    """Which ones do is known from the scores only: to leave them out would find too much."""
    noisy = (0.00, 0.12, -0.08, 0.03, -0.10, 0.12, -0.06, 0.02)
    ours = {"a": scored(0.58, noisy), "b": scored(0.995, (0.0, 0.001) * 4)}
    theirs = {"a": scored(0.5, (0.0,) * 8), "b": scored(0.995, (0.001, 0.0) * 4)}
    first, second = findings(dict.fromkeys("ab", COPY), {"mine": ours}, {"rope": theirs})
    assert (second.word, second.p) == ("not measurable here", None)
    assert second.comparison.p > first.comparison.p
    assert first.p == pytest.approx(2 * first.comparison.p)


def test_the_sentence_names_the_tables():
    found = findings(
        dict.fromkeys("abc", COPY),
        {"mine": {"a": scored(0.6), "b": scored(0.7), "c": scored(0.5)}},
        {"rope": {name: scored(0.5, NOISE[::-1]) for name in "abc"}},
    )
    said = "better on a and b; no difference that 8 seeds can see on c."
    assert sentence(found, "mine", "rope") == f"mine against rope, 3 tables: {said}"


def test_of_errors_less_is_better_and_chance_is_above():
    flip = {"a": TABLES["flip_flop"]}
    assert flip["a"].kind.better == "lower"
    ours, theirs = {"a": scored(0.1)}, {"a": scored(0.4, NOISE[::-1])}
    (finding,) = findings(flip, {"mine": ours}, {"rope": theirs})
    assert finding.word == "better"
    assert finding.comparison.difference == pytest.approx(-0.3)
    assert finding.comparison.low < -0.3 < finding.comparison.high < 0
    assert words(theirs, ours, flip) == {"a": "worse"}
    assert words({"a": scored(0.49)}, {"a": scored(0.5, NOISE[::-1])}, flip) == {"a": "not measurable here"}
