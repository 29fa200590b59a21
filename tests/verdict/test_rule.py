"""The words that a referee cannot turn."""

import dataclasses
from pathlib import Path

import pytest
from measured_cells import measured

from posenc_jax.statistics import extreme_p, paired_comparison, seeds_that_would_do, share_of
from posenc_jax.verdict.finding import in_prose, sentence
from posenc_jax.verdict.interim import forecast
from posenc_jax.verdict.measuring import of_lengths
from posenc_jax.verdict.rule import best_case, findings, learned, solving
from posenc_jax.verdict.tables import tables

TABLES = tables()
EVEN, COPY, FLIP = TABLES["even_pairs"], TABLES["copy"], TABLES["flip_flop"]
NOISE = (0.00, 0.02, -0.01, 0.01, -0.02, 0.03, -0.03, 0.00)
ROOT = Path(__file__).parent.parent.parent / "experiments" / "verdicts"


def arm(table, means, noise=NOISE):
    """An arm with such means by length, one for all lengths that are not named."""
    every = {n: means.get(n, means[None]) for n in table.run.evaluation.lengths}
    by_length = {n: {s: min(1.0, mean + own) for s, own in enumerate(noise)} for n, mean in every.items()}
    return of_lengths(table.asked, measured({}, by_length=by_length))


def found(ours, theirs, table=EVEN, rows=1):
    names = [table.name, *(f"row {n}" for n in range(1, rows))]
    flat = arm(table, {None: 0.7})
    others = dict.fromkeys(names[1:], flat)
    first, *_ = findings(
        dict.fromkeys(names, table.asked),
        {"mine": {table.name: ours} | others},
        {"rope": {table.name: theirs} | others},
    )
    return first


TRAINED = dict.fromkeys(EVEN.asked.trained_lengths, 0.97)


def test_worse_is_said_only_of_what_learned_the_task():
    theirs = arm(EVEN, TRAINED | {None: 0.8}, NOISE[::-1])
    assert found(arm(EVEN, TRAINED | {None: 0.6}), theirs).word == "worse"
    unlearned = dict.fromkeys(EVEN.asked.trained_lengths, 0.9)  # 0.8 of the way from 0.5 to 1
    own = found(arm(EVEN, unlearned | {None: 0.6}), theirs)
    assert (own.word, own.learned) == ("did not learn", (False, True))
    assert own.within == (pytest.approx(0.9, abs=0.01), pytest.approx(0.97, abs=0.01))
    assert (
        sentence((own,), "mine", "rope")
        == "mine against rope, 1 table: did not learn the task at this budget on even_pairs."
    )
    better = found(arm(EVEN, unlearned | {None: 0.9}), theirs)
    assert (better.word, better.said) == ("better", "better (task not learned)"), "a better one is better"


def test_what_limits_a_word_stands_behind_it():
    unlearned = dict.fromkeys(EVEN.asked.trained_lengths, 0.9)
    ours, theirs = arm(EVEN, TRAINED | {None: 0.8}), arm(EVEN, unlearned | {None: 0.6}, NOISE[::-1])
    assert found(ours, theirs).said == "better (task not learned by rope)"
    alike = found(arm(EVEN, unlearned | {None: 0.6}), theirs)
    assert alike.said == "no difference seen (task learned by neither)"
    assert in_prose(alike.said, 8) == "no difference that 8 seeds can see (task learned by neither)"
    assert in_prose("did not learn (later: no difference seen)", 8) == "did not learn (later: no difference seen)"
    near = found(arm(EVEN, TRAINED | {None: 0.98}), arm(EVEN, TRAINED | {None: 0.99}, NOISE[::-1]), rows=3)
    assert near.best_case.seen == ("worse",)
    assert near.said == "no difference seen (a better arm could not have been seen)"
    assert near.brief == "no difference seen"


def test_of_written_texts_nobody_knows_whether_they_were_learned():
    asked = dataclasses.replace(EVEN.asked, metric="chrf", writes_text=True)
    assert learned(asked, {0: 0.4}) is None
    assert learned(EVEN.asked, {0: 0.4}) is False


def test_a_difference_that_one_length_carries_is_said_so():
    theirs = arm(EVEN, TRAINED | {12: 0.8, None: 0.5}, NOISE[::-1])
    own = found(arm(EVEN, TRAINED | {None: 0.5}), theirs)
    assert (own.word, own.carried_by.length, own.said) == ("worse", 12, "worse (length 12 alone)")
    assert own.carried_by.share > 0.9
    spread = found(arm(EVEN, TRAINED | {None: 0.5}), arm(EVEN, TRAINED | {None: 0.6}, NOISE[::-1]))
    assert (spread.word, spread.carried_by) == ("worse", None)


def test_every_length_has_a_floor_and_every_range_a_word():
    theirs = arm(EVEN, TRAINED | {12: 0.8, 15: 0.7, None: 0.5}, NOISE[::-1])
    within, near, far = found(arm(EVEN, TRAINED | {None: 0.5}), theirs).ranges
    assert (within.place, within.word) == ("within", "no difference seen")
    assert (near.place, near.lengths, near.blind, near.word) == ("to twice", (12, 15), (20,), "worse")
    assert near.means == (pytest.approx(0.5, abs=1e-9), pytest.approx(0.75, abs=1e-9))
    assert (far.place, far.lengths, far.blind, far.word) == (
        "beyond twice",
        (),
        (25, 30, 35, 40),
        "not measurable here",
    )


def test_what_even_a_perfect_arm_could_not_show_cannot_be_told():
    few = NOISE[:4]
    theirs = arm(COPY, {None: 0.94}, (0.0, 0.03, -0.02, 0.02))
    assert found(arm(COPY, {None: 0.95}, few), theirs, COPY).best_case.seen == ("better", "worse")
    own = found(arm(COPY, {None: 0.95}, few), theirs, COPY, rows=14)
    assert own.word == "no difference seen", "a worse one could have been told"
    assert own.best_case.seen == ("worse",)
    assert own.best_case.would_do == 6
    middle = arm(EVEN, {None: 0.75}, (0.2, -0.2, 0.1))
    own = found(arm(EVEN, {None: 0.7}, (-0.2, 0.2, 0.0)), middle, rows=3)
    assert (own.word, own.best_case.seen) == ("cannot be told", ())
    assert own.said == f"cannot be told with 3 seeds ({own.best_case.would_do} would do; task learned by neither)"
    assert own.best_case.better > 0.05


def test_the_number_that_would_do_does():
    scores = [0.90, 0.94, 0.96, 0.92]
    enough = seeds_that_would_do(scores, 1.0, 0.0, 1.0, tests=14)
    assert 14 * extreme_p(scores, 1.0, 0.0, 1.0, enough) <= 0.05 < 14 * extreme_p(scores, 1.0, 0.0, 1.0, enough - 1)
    assert extreme_p(scores, 1.0, 0.0, 1.0) == pytest.approx(paired_comparison([1.0] * 4, scores).p)
    assert seeds_that_would_do([1.0, 1.0], 1.0, 0.0, 1.0) is None, "nothing is better than the best"
    spread = [0.1, 0.9, 0.3, 0.7, 0.2, 0.9]
    assert [seeds_that_would_do(spread, 0.55, 0.0, 1.0, tests) for tests in (10, 20)] == [925, None]


def test_of_errors_the_best_is_none():
    case = best_case(FLIP.asked.kind, FLIP.asked.chance, {seed: 0.4 + own for seed, own in enumerate(NOISE)})
    assert case.seen == ("better", "worse")
    assert best_case(FLIP.asked.kind, FLIP.asked.chance, {0: 0.0, 1: 0.001, 2: 0.0}).seen == ("worse",)
    assert found(arm(FLIP, {None: 0.3}), arm(FLIP, {None: 0.4}), FLIP).learned == (False, False)


def test_seeds_that_solve_it_or_not_are_counted():
    """Instead of an interval of their mean."""
    ours = arm(COPY, {None: 0.0}, (0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0))
    theirs = arm(COPY, {None: 0.0}, (0.0,) * 7 + (0.02,))
    own = found(ours, theirs, COPY)
    assert [share[:2] for share in own.solved] == [(5, 8), (0, 8)]
    assert own.solved[0] == share_of(5, 8)
    assert found(arm(COPY, {None: 0.5}), theirs, COPY).solved is None
    never, always = arm(COPY, {None: 0.0}, (0.0,) * 8), arm(COPY, {None: 1.0}, (0.0,) * 8)
    assert [share[:2] for share in found(never, always, COPY).solved] == [(0, 8), (8, 8)]
    near = arm(COPY, {None: 0.03}, (0.0, 0.01) * 4)
    assert found(near, never, COPY).solved is None, "their spread has an interval"
    assert [solving(COPY.asked.kind, 0.0, own) for own in ([0.0, 0.01], [1.0, 1.0], [0.05, 0.96, 1.0])] == [
        None,
        share_of(2, 2),
        share_of(2, 3),
    ]


def test_what_cannot_be_shown_is_said_before_the_run():
    high = {"rope": arm(COPY, {None: 0.94}, (0.0, 0.03, -0.02, 0.02))}
    assert list(forecast(COPY, high, 4, 1)) == []
    assert list(forecast(COPY, high, 4, 14)) == [
        "on copy even a perfect arm could not be told from rope with 4 seeds, corrected for 14 rows "
        "(6 would be enough for it); a worse arm could be"
    ]


SORT = dataclasses.replace(
    EVEN.asked,
    chance=0.2,
    floors={n: 0.5 if n in EVEN.asked.trained_lengths else 0.7 for n in EVEN.run.evaluation.lengths},
)


def judged_as(question, ours, theirs):
    (own,) = findings({"a": question}, {"mine": {"a": ours}}, {"rope": {"a": theirs}})
    return own


def test_arms_below_an_answer_that_does_not_look_are_neither_better_nor_worse():
    ours, theirs = arm(EVEN, TRAINED | {None: 0.3}), arm(EVEN, TRAINED | {None: 0.6}, NOISE[::-1])
    own = judged_as(SORT, ours, theirs)
    assert own.said == "neither beats an answer that does not look"
    assert judged_as(SORT, theirs, ours).said == own.said, "the same from the other side"
    assert own.p < 0.01, "the two differ, and that stays"
    assert judged_as(dataclasses.replace(SORT, floors={}), ours, theirs).word == "worse", "0.2 alone is no floor"
    above = arm(EVEN, TRAINED | {None: 0.8})
    assert judged_as(SORT, above, theirs).word == "better"


def test_learning_is_measured_from_the_floor():
    within = dict.fromkeys(EVEN.asked.trained_lengths, 0.93)
    assert learned(SORT, {0: 0.94}) is False, "0.88 of the way from 0.5, 0.925 of that from 0.2"
    assert learned(dataclasses.replace(SORT, floors={}), {0: 0.94}) is True
    own = judged_as(SORT, arm(EVEN, within | {None: 0.3}), arm(EVEN, TRAINED | {None: 0.6}, NOISE[::-1]))
    assert own.word == "did not learn"


def test_a_difference_below_a_shortcut_is_explained_by_it():
    asked = dataclasses.replace(COPY.asked, shortcut="any number", shortcut_score=0.125)
    low, high = arm(COPY, {None: 0.02}, NOISE), arm(COPY, {None: 0.11}, NOISE[::-1])
    assert judged_as(asked, high, low).said == "explained by a shortcut (any number; task learned by neither)"
    assert judged_as(asked, low, high).word == "did not learn"
    trained = dict.fromkeys(COPY.asked.trained_lengths, 0.97)
    high, low = arm(COPY, trained | {None: 0.11}), arm(COPY, trained | {None: 0.02}, NOISE[::-1])
    for pair in ((high, low), (low, high)):
        assert judged_as(asked, *pair).said == "explained by a shortcut (any number)"
    assert judged_as(asked, arm(COPY, trained | {None: 0.15}), low).word == "better"


def test_a_difference_that_is_not_at_the_first_untrained_length_is_said_so():
    theirs = arm(EVEN, TRAINED | {None: 0.55}, NOISE[::-1])
    own = found(arm(EVEN, TRAINED | {12: 0.55, None: 0.8}), theirs)
    assert (own.not_at, own.said, own.brief) == (12, "better (not at length 12)", "better (not at length 12)")
    assert found(theirs, arm(EVEN, TRAINED | {12: 0.55, None: 0.8})).said == "worse (not at length 12)"
    assert found(arm(EVEN, TRAINED | {None: 0.8}), theirs).said == "better"
    best = {12: 0.999}
    both = (
        arm(EVEN, TRAINED | best | {None: 0.9}, (0.0,) * 8),
        arm(EVEN, TRAINED | best | {None: 0.6}, (0.0, 0.0005) * 4),
    )
    assert found(*both).not_at is None, "both are near the best there"
