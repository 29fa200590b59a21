"""Five lines in plain English."""

import dataclasses

import pytest
from measured_cells import measured

from posenc_jax.statistics import Comparison, share_of
from posenc_jax.verdict.finding import BestCase, Finding, in_prose
from posenc_jax.verdict.headline import effect, headline
from posenc_jax.verdict.tables import tables

KINDS = {name: table.asked.kind for name, table in tables().items()}
NAMES = list(KINDS)


def finding(table, word, difference=0.1, p=0.01, baseline="rope", detectable=0.05):
    spread = None if difference is None else 0.02
    low, high = (None, None) if spread is None else (difference - spread, difference + spread)
    return Finding(table, baseline, Comparison(difference, low, high, p, detectable, 8, False), p, word, label="mine")


def unlearned(found, *arms):
    return dataclasses.replace(found, learned=tuple(own not in arms for own in (found.label, found.baseline)))


def lines(*findings, seeds=8, orderless=(), **times):
    """The lines of findings that have a pair of every seed, unless they say how many."""
    findings = [
        dataclasses.replace(own, comparison=own.comparison._replace(pairs=min(own.comparison.pairs, seeds)))
        for own in findings
    ]
    labels = {"mine": {"milliseconds_per_step": 3.0, "num_posenc_parameters": 1234}}
    labels |= {own.baseline: {"milliseconds_per_step": 2.0} for own in findings}
    found = {
        label: {own.table: measured({}, label, **fields | times) for own in findings}
        for label, fields in labels.items()
    }
    return headline(("mine",), found, findings, KINDS, seeds, orderless)


def test_better_worse_and_what_cannot_be_told():
    said = lines(
        finding("copy", "better", 0.2, 0.0001),
        finding("even_pairs", "worse", -0.1, 0.03),
        finding("bucket_sort", "no difference seen", 0.01, 0.6, detectable=0.124),
        finding("parity", "not measurable here", 0.0, None),
    )
    assert said == (
        "mine is better than rope on 1 of 4 tables (copy), worse on 1 (even_pairs).",
        "By how much: copy +0.200 [0.180, 0.220], even_pairs -0.100 [-0.120, -0.080].",
        "How sure: 8 seeds; p is 0.030 at most, corrected for 4 rows.",
        "At what cost: 1.50 times rope's time per step (1.50 to 1.50); 1,234 parameters of the encoding (rope: 0).",
        "What cannot be told: differences below 0.124 on bucket_sort, which 8 seeds often miss; anything on parity, "
        "where both are at chance or near the best score.",
    )


def of_pairs(found, pairs):
    return dataclasses.replace(found, comparison=found.comparison._replace(pairs=pairs))


def test_a_row_that_lost_seeds_is_told_by_its_pairs():
    said = lines(finding("copy", "better", 0.2, 0.0001), of_pairs(finding("even_pairs", "better", 0.2, 0.009), 2))
    assert said[2] == (
        "How sure: 8 seeds, of which a row has 2 pairs, since others diverged; p is 0.009 at most, corrected for 2 "
        "rows; with fewer than 8 seeds, all of this is only a hint."
    )


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("no difference seen", "not seen to differ from rope"),
        ("did not learn", "not judged against rope"),
        ("not measurable here", "not comparable with rope"),
        ("cannot be told", "not told from rope by this many seeds"),
    ],
)
def test_an_only_row_without_a_difference(word, said):
    first, *_ = lines(finding("copy", word, 0.0, None))
    assert first.startswith(f"mine is {said} on copy, the only table")


def test_no_pairs_are_no_tie():
    said = lines(of_pairs(finding("copy", "not measurable here", None, None, detectable=None), 0))
    assert said[0] == "mine is not comparable with rope on copy, the only table."
    assert said[4] == "What cannot be told: anything on copy, which has fewer than two pairs of seeds."


def test_nothing_found():
    said = lines(finding("copy", "no difference seen", 0.03, 0.2), finding("parity", "no difference seen", -0.04, 0.07))
    assert said[0] == "mine is not seen to differ from rope on 2 of 2 tables (copy and parity)."
    assert said[1].startswith("By how much: no difference was found; the closest is parity -0.040 [")
    assert said[1].endswith("], with p 0.070.")
    assert said[2] == "How sure: 8 seeds; no p is 0.05 or less, corrected for 2 rows."


def test_one_table_few_seeds_and_no_times():
    said = lines(finding("copy", "worse", -0.2, 0.0001), seeds=3, milliseconds_per_step=None)
    assert said[0] == "mine is worse than rope on copy, the only table."
    assert "p is below 0.001, corrected for 1 row; with fewer than 8 seeds, all of this is only a hint." in said[2]
    assert said[3].startswith("At what cost: times are not known; ")
    assert said[4] == "What cannot be told: whether this holds with 8 seeds."


def test_nothing_could_be_measured():
    said = lines(finding("copy", "not measurable here", None, None, detectable=None))
    assert said[1] == "By how much: no difference could be tested."
    assert said[4] == "What cannot be told: anything on copy, where both are at chance or near the best score."


def test_what_no_difference_could_have_shown():
    """Two seeds far apart find nothing, as a difference of accuracies is 1 at most."""
    said = lines(finding("copy", "no difference seen", 0.25, 0.3, detectable=2.042), seeds=2)
    assert said[4] == "What cannot be told: differences of any size on copy, which 2 seeds often miss."


def test_several_baselines_share_the_five_lines():
    said = lines(finding("copy", "better"), finding("copy", "no difference seen", 0.0, 0.9, baseline="nope"))
    assert said[0] == (
        "mine is better than rope on copy, the only table; not seen to differ from nope on copy, the only table."
    )
    assert "copy (to rope) +0.100" in said[1]
    assert "times nope's time" in said[3]
    assert "below 0.050 on copy (to nope)" in said[4]


def test_many_names_are_counted():
    said = lines(*(finding(name, "better") for name in NAMES))
    assert said[1].endswith(" and 6 more in the table.")


@pytest.mark.parametrize("word", ["better", "worse", "no difference seen", "not measurable here"])
def test_better_never_stands_beside_no_difference_without_the_reason(word):
    """In sentences; in tables a column with the reason is between them."""
    said = in_prose(word, 8)
    assert said == ("no difference that 8 seeds can see" if word == "no difference seen" else word)


def test_what_few_seeds_cannot_tell_and_what_was_not_learned():
    few = dataclasses.replace(finding("copy", "cannot be told", 0.3, 0.2), best_case=BestCase(0.2, 0.6, 13))
    said = lines(few, unlearned(finding("even_pairs", "did not learn", -0.2, 0.001), "mine"), seeds=3)
    assert said[0] == (
        "mine is not told from rope by this many seeds on 1 of 2 tables (copy), not judged against it on 1 "
        "(even_pairs); it did not learn even_pairs at this budget."
    )
    assert "p is 0.001, corrected for 2 rows" in said[2]
    assert said[4] == (
        "What cannot be told: anything with 3 seeds on copy (13 would show a perfect one); the result with more steps "
        "on even_pairs, where not both arms learned the task."
    )


def test_a_lead_over_a_baseline_that_has_not_learned_the_task_is_said_so():
    lead = unlearned(finding("even_pairs", "better", 0.2, 0.001), "rope")
    assert lines(lead, finding("copy", "better"))[4] == (
        "What cannot be told: the result with more steps on even_pairs, where not both arms learned the task."
    )


@pytest.mark.parametrize("word", ["better", "no difference seen", "cannot be told", "did not learn"])
def test_whatever_the_word_the_last_line_names_what_was_not_learned_with_twice_the_steps(word):
    first = unlearned(finding("even_pairs", word, 0.2, 0.001), "mine", "rope")
    learned, neither = (
        dataclasses.replace(first, with_twice="worse", learned_with_twice=own) for own in ((True, True), (False, False))
    )
    still = "the result with more than twice the steps on even_pairs, where not both arms learned the task with these"
    assert lines(neither)[4].endswith(f"{still}.")
    assert "even_pairs, where" not in lines(learned)[4]


def test_an_encoder_without_positions_is_no_question_of_steps():
    own = unlearned(finding("even_pairs", "did not learn", -0.2, 0.001), "mine")
    own = dataclasses.replace(own, with_twice="did not learn", learned_with_twice=(False, True))
    said = lines(own, finding("copy", "better"), orderless={("mine", "even_pairs")})
    assert said[0].endswith(
        "; it did not learn even_pairs, as an encoder without positions, which does not see the order of tokens."
    )
    assert said[4] == "What cannot be told: other tasks, lengths, sizes and budgets; every row has a result."
    assert "more than twice the steps on even_pairs" in lines(own, finding("copy", "better"))[4]


def test_a_baseline_that_did_not_learn_either_is_named():
    own = unlearned(finding("even_pairs", "did not learn", -0.2, 0.001), "mine", "rope")
    assert own.said == "did not learn the task at this budget (nor did rope)"
    assert "; it did not learn even_pairs (nor did rope) at this budget." in lines(own, finding("copy", "better"))[0]
    assert lines(own)[0] == (
        "mine is not judged against rope on even_pairs, the only table; it did not learn even_pairs (nor did rope) at "
        "this budget."
    )
    few = unlearned(finding("even_pairs", "cannot be told", 0.3, 0.2), "mine", "rope")
    assert few.said == "cannot be told with 8 seeds (no number would do; task learned by neither)"


def test_the_direction_that_could_not_have_been_seen_is_named():
    own = dataclasses.replace(finding("copy", "no difference seen", 0.01, 0.6), best_case=BestCase(0.001, 0.3, 4))
    assert lines(own)[4].endswith("; differences that could not have been seen: worse on copy.")


def test_a_score_that_is_all_or_nothing_has_shares_in_place_of_an_interval():
    solved = dataclasses.replace(finding("copy", "better", 0.625), solved=(share_of(5, 8), share_of(0, 8)))
    assert effect(solved, KINDS["copy"]) == "+0.625 (solved by 5 of 8 [0.31, 0.86] against 0 of 8 [0.00, 0.32])"
    assert effect(finding("copy", "better", 0.2), KINDS["copy"]) == "+0.200 [0.180, 0.220]"
