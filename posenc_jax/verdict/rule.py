"""The rule of verdicts, pure functions from the scores of two arms, by length and seed, to words.

A difference is found by the paired test of `posenc_jax.statistics.judge`, all rows of a card corrected together, those
of its second training among them; a row that earlier cards looked at is judged at a lower level (`looks`). Then:

- a worse arm that covers less than `LEARNED` of the way from the floor to the best score within the training lengths
  *did not learn the task*, and longer lengths say nothing about it;
- *neither beats an answer that does not look* where both arms score at most 0.02 above the floor, and that is not
  chance;
- a difference is *explained by a shortcut* where the higher arm scores no more than an answer that reads everything but
  what is asked;
- where no difference is seen, and neither a perfect arm nor a guessing one would have been told from the baseline, it
  *cannot be told* with so many seeds;
- a difference belongs to one length if more than half of the sum over lengths is of it, and what is left without it is
  not significant, or has the other sign; it does not hold at the first untrained length if it is not significant there,
  unless both arms are near the best score.

A floor is the score of the best answer that does not look at the input (`KeptQuestion.floor`): chance, or more. What
limits a word stands behind it: see `Finding.said`.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.results.averages import comparison_of, seed_means
from posenc_jax.statistics import (
    Comparison,
    Judged,
    Share,
    correlation,
    extreme_p,
    holm,
    judge,
    seeds_that_would_do,
    share_of,
    two_tests,
)
from posenc_jax.verdict.finding import ALPHA, BestCase, Carried, Finding, OfRange, Place, Scored, Word
from posenc_jax.verdict.looks import Pair
from posenc_jax.verdict.question import KeptQuestion

RULE = 3
"""The version of this rule. Version 1 had only the words of the test; version 2 no floor but chance, corrected each
training by itself, and knew no earlier cards."""
LEARNED = 0.9
"""The share of the way from the floor to the best score that an arm must cover within the training lengths."""
ByLength = Mapping[int, Mapping[int, float]]


class ArmScores(Protocol):
    """Scores of an arm on a question."""

    @property
    def by_length(self) -> ByLength:
        """Length -> seed -> score."""

    @property
    def in_range(self) -> Mapping[int, float]:
        """Seed -> mean over the trained lengths."""

    def scored(self, way: Scored) -> Mapping[int, float]:
        """Seed -> mean over the question's score lengths, by a way to score."""


def findings(
    questions: Mapping[str, KeptQuestion],
    ours: Mapping[str, Mapping[str, ArmScores]],
    theirs: Mapping[str, Mapping[str, ArmScores]],
    way: Scored = "final",
    times: Mapping[Pair, float] = MappingProxyType({}),
    others: Sequence[float] = (),
) -> tuple[Finding, ...]:
    """The findings of every encoding against every baseline, on every question that both answered, corrected together.

    Args:
      ours, theirs: label -> question -> what it scored.
      times: the factor of a row's p for earlier looks at it (`posenc_jax.verdict.looks`), where it is not 1.
      others: p of other rows that are corrected together with these.
    """
    rows = _rows(questions, ours, theirs)
    factors = [times.get(pair, 1.0) for pair in rows]
    compared = [_compare(*row, way) for row in rows.values()]
    blind = [own.at_bound and _blind(*row, way) for own, row in zip(compared, rows.values(), strict=True)]
    tested = [own._replace(at_bound=own.at_bound and not low) for own, low in zip(compared, blind, strict=True)]
    family = [(own, row[0].kind.better) for own, row in zip(tested, rows.values(), strict=True)]
    judged = judge(family, factors, others)
    tests = {n: min(1.0, factors[n] * own.p) for n, own in enumerate(compared) if own.p is not None}
    found = []
    for number, ((label, name, baseline), row, own) in enumerate(zip(rows, rows.values(), judged, strict=True)):
        beside = (*(p for other, p in tests.items() if other != number), *others)
        asked, scores = row[0], row[2].scored(way)
        case = None if own.p is None else best_case(asked.kind, asked.beyond, scores, beside, factors[number])
        word = _word(own, row, case, blind[number], way)
        arms = _paired(row[1].scored(way), row[2].scored(way), row[0].kind)
        told = word in ("better", "worse") and way == "final"
        carried = _carried(*row) if told else None
        found.append(
            Finding(
                label=label,
                table=name,
                baseline=baseline,
                comparison=own.comparison,
                p=own.p,
                word=word,
                way=way,
                within=(_within(row[0], row[1]), _within(row[0], row[2])),
                learned=(learned(row[0], row[1].in_range), learned(row[0], row[2].in_range)),
                best_case=case,
                correlation=correlation(*arms),
                solved=_solved(*row, way),
                two_tests=two_tests([a - b for a, b in zip(*arms, strict=True)], row[0].kind.better),
                carried_by=carried,
                not_at=_not_at(*row) if told and carried is None else None,
                shortcut=row[0].shortcut if word == "explained by a shortcut" else "",
            )
        )
    return tuple(found) if way != "final" else _with_ranges(found, [*rows.values()])


def p_values(
    questions: Mapping[str, KeptQuestion],
    ours: Mapping[str, Mapping[str, ArmScores]],
    theirs: Mapping[str, Mapping[str, ArmScores]],
    times: Mapping[Pair, float],
) -> tuple[float, ...]:
    """p of every row alone, with its factor, as far as it is tested; the arguments as of `findings`."""
    rows = _rows(questions, ours, theirs)
    compared = (_compare(*row, "final").p for row in rows.values())
    return tuple(min(1.0, times.get(pair, 1.0) * p) for pair, p in zip(rows, compared, strict=True) if p is not None)


def _rows(
    questions: Mapping[str, KeptQuestion],
    ours: Mapping[str, Mapping[str, ArmScores]],
    theirs: Mapping[str, Mapping[str, ArmScores]],
) -> dict[Pair, tuple[KeptQuestion, ArmScores, ArmScores]]:
    return {
        (label, name, own): (questions[name], ours[label][name], theirs[own][name])
        for label in ours
        for own in theirs
        for name in questions
        if name in ours[label] and name in theirs[own]
    }


def best_case(
    kind: ScoreKind, floor: float | None, theirs: Mapping[int, float], others: tuple[float, ...] = (), times: float = 1
) -> BestCase:
    """The strongest result that so many seeds can show against an arm with such scores.

    Args:
      floor: the score of an answer that does not look; None: the worst score that there is.
      others: p of the rows that are corrected together with this one; 1 for each that is not known yet.
      times: the factor of p for earlier looks.
    """
    scores = [kind.inner(score) for score in theirs.values()]
    lower, upper = kind.bounds
    if not math.isfinite(upper) or not scores or not all(lower - 1e-6 <= score <= upper + 1e-6 for score in scores):
        return BestCase(None, None, None)
    best, worst = (upper, lower) if kind.better == "higher" else (lower, upper)
    target = best, worst if floor is None else floor

    def corrected(p: float) -> float:
        return holm({"": min(1.0, times * p)} | {str(number): other for number, other in enumerate(others)})[""]

    better, worse = (corrected(extreme_p(scores, own, lower, upper)) for own in target)
    tests = len(others) + 1
    return BestCase(better, worse, seeds_that_would_do(scores, best, lower, upper, tests, ALPHA / times))


def way_come(kind: ScoreKind, floor: float | None, score: float) -> float | None:
    """The share of the way from the floor, or from the worst score, to the best; None where there is no best."""
    lower, upper = kind.bounds
    if not math.isfinite(upper):
        return None
    best, worst = (upper, lower) if kind.better == "higher" else (lower, upper)
    begin = worst if floor is None else floor
    return (score - begin) / (best - begin)


def solving(kind: ScoreKind, floor: float | None, scores: Iterable[float]) -> Share | None:
    """The share of seeds that solve the task, for an arm that is all or nothing: every seed is near the best score or
    near the floor, within 1 - `LEARNED`, and both occur; or all are exactly at one of the two. None for other arms,
    whose means have intervals.
    """
    come = [way_come(kind, floor, score) for score in scores]
    return _share(come) if come and (_both_ends(come) or _at_one_end(come)) else None


def learned(question: KeptQuestion, in_range: Mapping[int, float]) -> bool | None:
    """True if the mean within the training lengths covers `LEARNED` of the way; None where that is unknown, and for
    texts that a model writes, whose best score no model reaches.
    """
    if question.writes_text:
        return None
    floor = question.floor(question.trained_lengths)
    come = way_come(question.kind, floor, question.kind.mean(in_range.values())) if in_range else None
    return None if come is None else come >= LEARNED


def by_shortcut(question: KeptQuestion, *arms: Mapping[int, float]) -> bool:
    """True where no arm, seed -> score, is above the question's shortcut."""
    if question.shortcut_score is None or question.kind.highest is None:
        return False
    return (way_come(question.kind, question.shortcut_score, _higher(question, *arms)) or 0.0) <= 0


def _compare(question: KeptQuestion, ours: ArmScores, theirs: ArmScores, way: Scored) -> Comparison:
    return comparison_of(ours.scored(way), theirs.scored(way), question.kind, question.beyond)


def _blind(question: KeptQuestion, ours: ArmScores, theirs: ArmScores, way: Scored) -> bool:
    """True where two arms at a bound are at a floor that is not chance."""
    come = way_come(question.kind, question.beyond, _higher(question, ours.scored(way), theirs.scored(way)))
    return any(n in question.floors for n in question.score_lengths) and come is not None and come < 0.5


def _higher(question: KeptQuestion, *arms: Mapping[int, float]) -> float:
    """The mean score of the better of some arms."""
    means = [question.kind.mean(own.values()) for own in arms if own]
    return max(means) if question.kind.better == "higher" else min(means)


def _word(
    own: Judged, row: tuple[KeptQuestion, ArmScores, ArmScores], case: BestCase | None, blind: bool, way: Scored
) -> Word:
    if own.word == "worse" and learned(row[0], row[1].in_range) is False:
        return "did not learn"
    if blind:
        return "neither beats an answer that does not look"
    if own.word in ("better", "worse") and by_shortcut(row[0], *(arm.scored(way) for arm in row[1:])):
        return "explained by a shortcut"
    if own.word == "no difference seen" and case is not None and not case.seen:
        return "cannot be told"
    return own.word


def _within(question: KeptQuestion, arm: ArmScores) -> float | None:
    return question.kind.mean(arm.in_range.values()) if arm.in_range else None


def _paired(ours: Mapping[int, float], theirs: Mapping[int, float], kind: ScoreKind) -> tuple[list[float], list[float]]:
    seeds = sorted(ours.keys() & theirs.keys())
    return [kind.inner(ours[seed]) for seed in seeds], [kind.inner(theirs[seed]) for seed in seeds]


def _solved(question: KeptQuestion, ours: ArmScores, theirs: ArmScores, way: Scored) -> tuple[Share, Share] | None:
    kind, floor = question.kind, question.beyond
    first, second = ([way_come(kind, floor, own) for own in arm.scored(way).values()] for arm in (ours, theirs))
    counts = _both_ends(first) or _both_ends(second) or (_at_one_end(first) and _at_one_end(second))
    return (_share(first), _share(second)) if first and second and counts else None


def _share(come: list[float | None]) -> Share:
    return share_of(sum(own is not None and own >= LEARNED for own in come), len(come))


def _both_ends(come: list[float | None]) -> bool:
    ends = {None if own is None else 1 if own >= LEARNED else 0 if own <= 1 - LEARNED else None for own in come}
    return ends == {0, 1}


def _at_one_end(come: list[float | None]) -> bool:
    known = [own for own in come if own is not None]
    return len(known) == len(come) and (all(own > 1 - 1e-6 for own in known) or all(abs(own) < 1e-6 for own in known))


def _carried(question: KeptQuestion, ours: ArmScores, theirs: ArmScores) -> Carried | None:
    """The length that a difference belongs to, with its share, if there is one."""
    lengths = question.score_lengths
    each = {n: _of_lengths(question, ours, theirs, (n,)).difference for n in lengths}
    total = math.fsum(own for own in each.values() if own is not None)
    if len(lengths) < 2 or None in each.values() or not total:
        return None
    share, length = max((own / total, n) for n, own in each.items() if own is not None)
    rest = _of_lengths(question, ours, theirs, tuple(n for n in lengths if n != length))
    unseen = rest.at_bound or rest.p is None or rest.p > ALPHA or (rest.difference or 0.0) * total <= 0
    return Carried(length, share) if share > 0.5 and unseen else None


def _not_at(question: KeptQuestion, ours: ArmScores, theirs: ArmScores) -> int | None:
    """The first length beyond training, if a difference over all lengths does not hold there."""
    longest = max(question.trained_lengths, default=math.inf)
    first = min((n for n in question.score_lengths if n > longest), default=None)
    if first is None:
        return None
    here, every = (_of_lengths(question, ours, theirs, own) for own in ((first,), question.score_lengths))
    if here.difference is None:
        return None
    if here.at_bound:
        at_length = (seed_means(arm.by_length, (first,), question.kind) for arm in (ours, theirs))
        come = way_come(question.kind, question.floor((first,)), _higher(question, *at_length))
        return None if come is None or come > 0.5 else first
    same = (here.difference or 0.0) * (every.difference or 0.0) > 0
    return None if same and here.p is not None and here.p <= ALPHA else first


def _of_lengths(question: KeptQuestion, ours: ArmScores, theirs: ArmScores, lengths: tuple[int, ...]) -> Comparison:
    kind = question.kind
    first, second = (seed_means(arm.by_length, lengths, kind) for arm in (ours, theirs))
    return comparison_of(first, second, kind, question.floor(lengths))


def _with_ranges(found: list[Finding], rows: list[tuple[KeptQuestion, ArmScores, ArmScores]]) -> tuple[Finding, ...]:
    places = [(number, place, own) for number, row in enumerate(rows) for place, own in _places(row[0]).items()]
    parts = []
    for number, place, lengths in places:
        row = rows[number]
        there = tuple(n for n in lengths if row[1].by_length.get(n) and row[2].by_length.get(n))
        blind = tuple(n for n in there if _of_lengths(*row, (n,)).at_bound)
        seen = tuple(n for n in there if n not in blind)
        if there:
            parts.append((number, place, seen, blind, _of_lengths(*row, seen or there)))
    judged = judge([(comparison, rows[number][0].kind.better) for number, *_, comparison in parts])
    ranges: dict[int, list[OfRange]] = {}
    for (number, place, seen, blind, _), own in zip(parts, judged, strict=True):
        question, *arms = rows[number]
        first, second = (_mean(question, arm, seen or blind) for arm in arms)
        p, word = (own.p, own.word) if seen else (None, "not measurable here")
        of = OfRange(place, seen, blind, (first, second), own.comparison, p, word)
        ranges.setdefault(number, []).append(of)
    return tuple(dataclasses.replace(own, ranges=tuple(ranges.get(number, ()))) for number, own in enumerate(found))


def _mean(question: KeptQuestion, arm: ArmScores, lengths: tuple[int, ...]) -> float:
    own = seed_means(arm.by_length, lengths, question.kind)
    return question.kind.mean(own.values()) if own else math.nan


def _places(question: KeptQuestion) -> dict[Place, tuple[int, ...]]:
    """The ranges of lengths that a question has."""
    trained = question.trained_lengths
    longest = max(trained, default=0)
    beyond = tuple(n for n in question.score_lengths if n not in trained)
    found: dict[Place, tuple[int, ...]] = {
        "within": trained,
        "to twice": tuple(n for n in beyond if n <= 2 * longest),
        "beyond twice": tuple(n for n in beyond if n > 2 * longest),
    }
    return {place: lengths for place, lengths in found.items() if lengths}
