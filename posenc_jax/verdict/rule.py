"""The rule of verdicts, pure functions from the scores of two arms, by length and seed, to words.

A difference is found by the paired test of `posenc_jax.statistics.judge`, all rows of a card corrected together. Then:

- a worse arm that covers less than `LEARNED` of the way from chance to the best score within the training lengths *did
  not learn the task*, and longer lengths say nothing about it;
- where no difference is seen, and neither a perfect arm nor a guessing one would have been told from the baseline, it
  *cannot be told* with so many seeds;
- a difference belongs to one length if less than half of it, and nothing significant, is left without that length.

What limits a word stands behind it: that one length, a task that one or both did not learn, or that a better or a worse
arm could not have been seen.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Protocol

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.results.averages import comparison_of, seed_means
from posenc_jax.statistics import (
    Comparison,
    Judged,
    Share,
    TwoTests,
    correlation,
    extreme_p,
    holm,
    judge,
    seeds_that_would_do,
    share_of,
    two_tests,
)
from posenc_jax.statistics import Word as Tested
from posenc_jax.verdict.question import KeptQuestion

RULE = 2
"""The version of this rule. Version 1 had only the words of the test."""
LEARNED = 0.9
"""The share of the way from chance to the best score that an arm must cover within the training lengths."""
ALPHA = 0.05
Word = Literal[Tested, "did not learn", "cannot be told"]
WORDS: tuple[Word, ...] = (
    *("better", "worse", "did not learn", "no difference seen", "cannot be told"),
    "not measurable here",
)
ByLength = Mapping[int, Mapping[int, float]]
Scored = Literal["final", "best checkpoint", "best temperature"]
Place = Literal["within", "to twice", "beyond twice"]


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


class Carried(NamedTuple):
    """A length, and its share of a difference that is summed over lengths."""

    length: int
    share: float


class BestCase(NamedTuple):
    """The strongest result that these seeds could have shown.

    Attributes:
      better, worse: p of a perfect arm and of a guessing one (a wrong one, where guessing has no known score) in place
        of ours, corrected like ours. None where scores have no best.
      would_do: the fewest seeds that would have shown a perfect arm among so many rows; None where no number would.
    """

    better: float | None
    worse: float | None
    would_do: int | None

    @property
    def seen(self) -> tuple[Literal["better", "worse"], ...]:
        """The differences that could have been seen."""
        cases: tuple[tuple[Literal["better", "worse"], float | None], ...] = (
            ("better", self.better),
            ("worse", self.worse),
        )
        return tuple(name for name, p in cases if p is None or p <= ALPHA)


@dataclasses.dataclass(frozen=True)
class OfRange:
    """One range of lengths.

    Attributes:
      place: whether these are training lengths, those up to twice the longest of them, or longer ones.
      lengths: those compared.
      blind: those at which both arms are at chance, or both near the best; they are not compared.
      means: ours and theirs over ``lengths``, over all of the range where every one is blind.
      comparison, p, word: as of `Finding`; corrected for all ranges of all rows.
    """

    place: Place
    lengths: tuple[int, ...]
    blind: tuple[int, ...]
    means: tuple[float, float]
    comparison: Comparison
    p: float | None
    word: Tested


@dataclasses.dataclass(frozen=True)
class Finding:
    """One encoding against one baseline on one table.

    Attributes:
      comparison: of the scores, seed by seed; of logarithms where the score is logarithmic. Its ``detectable`` allows
        for the correction.
      p: of the comparison, corrected by Holm's method for all findings of the same way, measurable or not; None where
        it is not measurable or not tested.
      word: see the module.
      way: how both were scored; "final", after the last step, decides.
      within: the means of both within the training lengths; None where none was measured.
      learned: whether each arm learned the task; None where scores have no best, or none was measured.
      best_case: None where nothing is tested.
      correlation: of both arms over seeds. Pairing removes spread only where it is positive.
      solved: the share of seeds of each arm that solve the task, where both are all or nothing (`solving`) or one has
        seeds at both ends, so that an interval of means says nothing.
      carried_by: the one length that a difference belongs to, with its share of the sum over lengths; or None.
      ranges: the same by length; none for other ways to score.
      two_tests: the result of the protocol of arXiv:2511.19794 for this row alone.
      label: of the encoding.
      with_twice: the word of both, trained once more with twice the steps, where ours did not learn the task; None
        where that was not done.
    """

    table: str
    baseline: str
    comparison: Comparison
    p: float | None
    word: Word
    way: Scored = "final"
    within: tuple[float | None, float | None] = (None, None)
    learned: tuple[bool | None, bool | None] = (None, None)
    best_case: BestCase | None = None
    correlation: float | None = None
    solved: tuple[Share, Share] | None = None
    carried_by: Carried | None = None
    ranges: tuple[OfRange, ...] = ()
    two_tests: TwoTests | None = None
    label: str = ""
    with_twice: Word | None = None

    @property
    def later(self) -> str:
        """The word with twice the steps, in brackets; or ""."""
        return f" (with twice the steps: {self.with_twice})" if self.with_twice is not None else ""

    @property
    def said(self) -> str:
        """The word with its qualification, as in tables."""
        if self.word == "did not learn":
            return f"did not learn the task at this budget{self.later}"
        if self.word == "cannot be told":
            return untold(self.comparison.pairs, self.best_case)
        notes = "; ".join(self._limits())
        return f"{self.word} ({notes})" if notes else self.word

    @property
    def brief(self) -> str:
        """The word, with the one length that carries a difference, as in figures."""
        return self.word + (f" (length {self.carried_by.length} alone)" if self.carried_by is not None else "")

    def _limits(self) -> Iterator[str]:
        """Limits of the word: one length, a task that was not learned, a difference that could not have been seen."""
        if self.carried_by is not None:
            yield f"length {self.carried_by.length} alone"
        if self.word != "not measurable here" and False in self.learned:
            ours, theirs = (own is False for own in self.learned)
            by = f"not learned by {self.baseline}" if not ours else "learned by neither" if theirs else "not learned"
            yield f"task {by}"
        if self.word == "no difference seen" and self.best_case is not None and len(self.best_case.seen) == 1:
            other = "worse" if "better" in self.best_case.seen else "better"
            yield f"a {other} arm could not have been seen"


def untold(seeds: int, case: BestCase | None) -> str:
    """The words of a row that cannot be told, such as ``cannot be told with 4 seeds (6 would do)``."""
    needed = case.would_do if case is not None else None
    enough = "no number would do" if needed is None else f"{needed} would do"
    return f"cannot be told with {seeds} seeds ({enough})"


def in_prose(said: str, seeds: int) -> str:
    """`Finding.said` as in sentences, which name the number of seeds where no difference is seen."""
    unseen = "no difference seen"
    return f"no difference that {seeds} seeds can see{said[len(unseen) :]}" if said.startswith(unseen) else said


def findings(
    questions: Mapping[str, KeptQuestion],
    ours: Mapping[str, Mapping[str, ArmScores]],
    theirs: Mapping[str, Mapping[str, ArmScores]],
    way: Scored = "final",
) -> tuple[Finding, ...]:
    """The findings of every encoding against every baseline, on every question that both answered, corrected together.

    Args:
      ours, theirs: label -> question -> what it scored.
    """
    pairs = [
        (label, name, own)
        for label in ours
        for own in theirs
        for name in questions
        if name in ours[label] and name in theirs[own]
    ]
    rows = [(questions[name], ours[label][name], theirs[own][name]) for label, name, own in pairs]
    judged = judge([(_compare(*row, way), row[0].kind.better) for row in rows])
    p_values = {str(number): own.comparison.p for number, own in enumerate(judged) if own.comparison.p is not None}
    found = []
    for number, ((label, name, baseline), row, own) in enumerate(zip(pairs, rows, judged, strict=True)):
        others = tuple(p for name, p in p_values.items() if name != str(number))
        case = None if own.p is None else best_case(row[0].kind, row[0].chance, row[2].scored(way), others)
        word, arms = _word(own, row, case), _paired(row[1].scored(way), row[2].scored(way), row[0].kind)
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
                carried_by=_carried(*row) if word in ("better", "worse") and way == "final" else None,
            )
        )
    return tuple(found) if way != "final" else _with_ranges(found, rows)


def best_case(
    kind: ScoreKind, chance: float | None, theirs: Mapping[int, float], others: tuple[float, ...] = ()
) -> BestCase:
    """The strongest result that so many seeds can show against an arm with such scores.

    Args:
      others: p of the rows that are corrected together with this one; 1 for each that is not known yet.
    """
    scores = [kind.inner(score) for score in theirs.values()]
    lower, upper = kind.bounds
    if not math.isfinite(upper) or not scores or not all(lower - 1e-6 <= score <= upper + 1e-6 for score in scores):
        return BestCase(None, None, None)
    best, worst = (upper, lower) if kind.better == "higher" else (lower, upper)
    target = best, worst if chance is None else chance

    def corrected(p: float) -> float:
        return holm({"": p} | {str(number): other for number, other in enumerate(others)})[""]

    better, worse = (corrected(extreme_p(scores, own, lower, upper)) for own in target)
    return BestCase(better, worse, seeds_that_would_do(scores, best, lower, upper, len(others) + 1, ALPHA))


def way_come(kind: ScoreKind, chance: float | None, score: float) -> float | None:
    """The share of the way from chance, or from the worst score, to the best; None where there is no best."""
    lower, upper = kind.bounds
    if not math.isfinite(upper):
        return None
    best, worst = (upper, lower) if kind.better == "higher" else (lower, upper)
    begin = worst if chance is None else chance
    return (score - begin) / (best - begin)


def solving(kind: ScoreKind, chance: float | None, scores: Iterable[float]) -> Share | None:
    """The share of seeds that solve the task, for an arm that is all or nothing: every seed is near the best score or
    near chance, within 1 - `LEARNED`, and both occur; or all are exactly at one of the two. None for other arms, whose
    means have intervals.
    """
    come = [way_come(kind, chance, score) for score in scores]
    return _share(come) if come and (_both_ends(come) or _at_one_end(come)) else None


def learned(question: KeptQuestion, in_range: Mapping[int, float]) -> bool | None:
    """True if the mean within the training lengths covers `LEARNED` of the way; None where that is unknown, and for
    texts that a model writes, whose best score no model reaches.
    """
    if question.writes_text:
        return None
    come = way_come(question.kind, question.chance, question.kind.mean(in_range.values())) if in_range else None
    return None if come is None else come >= LEARNED


def sentence(found: tuple[Finding, ...], label: str, baseline: str) -> str:
    """A sentence on an encoding and one baseline, over all tables."""
    rows = (one for one in found if (one.label, one.baseline) == (label, baseline))
    own = sorted(rows, key=lambda one: WORDS.index(one.word))
    of: dict[str, list[str]] = {}
    for one in own:
        of.setdefault(in_prose(one.said, one.comparison.pairs), []).append(one.table)
    parts = [f"{said} on {listed(names)}" for said, names in of.items()]
    return f"{label} against {baseline}, {len(own)} table{'s' * (len(own) != 1)}: {'; '.join(parts)}."


def listed(names: list[str]) -> str:
    """Names joined by commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _compare(question: KeptQuestion, ours: ArmScores, theirs: ArmScores, way: Scored) -> Comparison:
    return comparison_of(ours.scored(way), theirs.scored(way), question.kind, question.chance)


def _word(own: Judged, row: tuple[KeptQuestion, ArmScores, ArmScores], case: BestCase | None) -> Word:
    if own.word == "worse" and learned(row[0], row[1].in_range) is False:
        return "did not learn"
    if own.word == "no difference seen" and case is not None and not case.seen:
        return "cannot be told"
    return own.word


def _within(question: KeptQuestion, arm: ArmScores) -> float | None:
    return question.kind.mean(arm.in_range.values()) if arm.in_range else None


def _paired(ours: Mapping[int, float], theirs: Mapping[int, float], kind: ScoreKind) -> tuple[list[float], list[float]]:
    seeds = sorted(ours.keys() & theirs.keys())
    return [kind.inner(ours[seed]) for seed in seeds], [kind.inner(theirs[seed]) for seed in seeds]


def _solved(question: KeptQuestion, ours: ArmScores, theirs: ArmScores, way: Scored) -> tuple[Share, Share] | None:
    kind, chance = question.kind, question.chance
    first, second = ([way_come(kind, chance, own) for own in arm.scored(way).values()] for arm in (ours, theirs))
    counts = _both_ends(first) or _both_ends(second) or (_at_one_end(first) and _at_one_end(second))
    return (_share(first), _share(second)) if first and second and counts else None


def _share(come: list[float | None]) -> Share:
    return share_of(sum(own is not None and own >= LEARNED for own in come), len(come))


def _both_ends(come: list[float | None]) -> bool:
    ends = {None if own is None else 1 if own >= LEARNED else 0 if own <= 1 - LEARNED else None for own in come}
    return ends == {0, 1}


def _at_one_end(come: list[float | None]) -> bool:
    known = [own for own in come if own is not None]
    return len(known) == len(come) and (all(own > 1 - 1e-6 for own in known) or all(own < 1e-6 for own in known))


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


def _of_lengths(question: KeptQuestion, ours: ArmScores, theirs: ArmScores, lengths: tuple[int, ...]) -> Comparison:
    kind = question.kind
    first, second = (seed_means(arm.by_length, lengths, kind) for arm in (ours, theirs))
    return comparison_of(first, second, kind, question.chance)


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
