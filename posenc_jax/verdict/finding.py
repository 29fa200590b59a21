"""Findings of a verdict as data: one encoding against one baseline on one table, and the words for it.

The `rule` says which word a finding gets.
"""

import dataclasses
from collections.abc import Iterator
from typing import Literal, NamedTuple

from posenc_jax.drawing.quantities import p_value
from posenc_jax.statistics import Comparison, Share, TwoTests
from posenc_jax.statistics import Word as Tested

ALPHA = 0.05
Word = Literal[
    Tested, "explained by a shortcut", "did not learn", "cannot be told", "neither beats an answer that does not look"
]
WORDS: tuple[Word, ...] = (
    *("better", "worse", "explained by a shortcut", "did not learn", "no difference seen", "cannot be told"),
    *("neither beats an answer that does not look", "not measurable here"),
)
Scored = Literal["final", "best checkpoint", "best temperature", "other tied rate"]
TIED: Scored = "other tied rate"
Place = Literal["within", "to twice", "beyond twice"]


class Carried(NamedTuple):
    """A length, and its share of a difference that is summed over lengths."""

    length: int
    share: float


class BestCase(NamedTuple):
    """The strongest result that these seeds could have shown.

    Attributes:
      better, worse: p of a perfect arm and of one at the floor (a wrong one, where no floor is known) in place
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
      blind: those at which both arms are at the floor, or both near the best; they are not compared.
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
      not_at: the first length beyond training, if the difference does not hold there.
      shortcut: what explains a difference, in words; "" for other ones.
      ranges: the same by length; none for other ways to score.
      two_tests: the result of the protocol of arXiv:2511.19794 for this row alone.
      label: of the encoding.
      with_twice: the word of both, trained once more with twice the steps, where one of them did not learn the task;
        None where that was not done.
      learned_with_twice: whether each arm learned the task then.
      unseen_with_twice: `unseen` of that training.
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
    not_at: int | None = None
    shortcut: str = ""
    ranges: tuple[OfRange, ...] = ()
    two_tests: TwoTests | None = None
    label: str = ""
    with_twice: Word | None = None
    learned_with_twice: tuple[bool | None, bool | None] = (None, None)
    unseen_with_twice: Literal["better", "worse"] | None = None

    @property
    def unseen(self) -> Literal["better", "worse"] | None:
        """The difference that could not have been seen, where none is and the other one could have been."""
        if self.word != "no difference seen" or self.best_case is None or len(self.best_case.seen) != 1:
            return None
        return "worse" if "better" in self.best_case.seen else "better"

    @property
    def last_learned(self) -> tuple[bool | None, bool | None]:
        """`learned` of the longest training."""
        return self.learned if self.with_twice is None else self.learned_with_twice

    @property
    def later(self) -> str:
        """The word with twice the steps, in brackets; or ""."""
        return f" ({self._twice})" if self.with_twice is not None else ""

    @property
    def _twice(self) -> str:
        still = f", {self._unlearned(self.learned_with_twice)}" if False in self.learned_with_twice else ""
        unseen = f", a {self.unseen_with_twice} arm could not have been seen" if self.unseen_with_twice else ""
        return f"with twice the steps: {self.with_twice}{still * (self.with_twice != 'did not learn')}{unseen}"

    @property
    def said(self) -> str:
        """The word with its qualification, as in tables."""
        if self.word == "did not learn":
            neither = [f"nor did {self.baseline}"] if self.learned[1] is False else []
            notes = "; ".join(neither + ([self._twice] if self.with_twice is not None else []))
            return "did not learn the task at this budget" + (f" ({notes})" if notes else "")
        if self.word == "cannot be told":
            return untold(self.comparison.pairs, self.best_case, *self._of_learning())
        notes = "; ".join(self._limits())
        return f"{self.word} ({notes})" if notes else self.word

    @property
    def brief(self) -> str:
        """The word, with the lengths that limit it, as in figures."""
        notes = "; ".join(self._lengths())
        word = "neither beats not looking" if self.word.startswith("neither") else self.word
        return f"{word} ({notes})" if notes else word

    def _unlearned(self, learned: tuple[bool | None, bool | None]) -> str:
        """Words on the arms that did not learn the task, ours if none is named."""
        ours, theirs = (own is False for own in learned)
        by = f"not learned by {self.baseline}" if not ours else "learned by neither" if theirs else "not learned"
        return f"task {by}"

    def _limits(self) -> Iterator[str]:
        """Limits of the word: a shortcut, lengths, a task that was not learned, with the word that twice the steps
        gave, and a difference that could not have been seen.
        """
        if self.shortcut:
            yield self.shortcut
        yield from self._lengths()
        yield from self._of_learning()
        if self.unseen is not None:
            yield f"a {self.unseen} arm could not have been seen"

    def _lengths(self) -> Iterator[str]:
        if self.carried_by is not None:
            yield f"length {self.carried_by.length} alone"
        if self.not_at is not None:
            yield f"not at length {self.not_at}"

    def _of_learning(self) -> Iterator[str]:
        if self.word != "not measurable here" and False in self.learned:
            yield self._unlearned(self.learned)
        if self.with_twice is not None:
            yield self._twice


def untold(seeds: int, case: BestCase | None, *limits: str) -> str:
    """The words of a row that cannot be told, such as ``cannot be told with 4 seeds (6 would do)``: with 6 a perfect
    arm would be seen.
    """
    needed = case.would_do if case is not None else None
    enough = "no number would do" if needed is None else f"{needed} would do"
    return f"cannot be told with {seeds} seeds ({'; '.join((enough, *limits))})"


def in_prose(said: str, seeds: int) -> str:
    """`Finding.said` as in sentences, which name the number of seeds where no difference is seen."""
    unseen = "no difference seen"
    return f"no difference that {seeds} seeds can see{said[len(unseen) :]}" if said.startswith(unseen) else said


def with_p(name: str, found: Finding) -> str:
    """A name, or a word, with the corrected p of its row, where that was tested."""
    return name if found.p is None else f"{name} (p {p_value(found.p)})"


def sentence(found: tuple[Finding, ...], label: str, baseline: str, corrected: int = 0) -> str:
    """A sentence on an encoding and one baseline, over all tables, with every p if it says for how many rows these are
    ``corrected``.
    """
    rows = (one for one in found if (one.label, one.baseline) == (label, baseline))
    own = sorted(rows, key=lambda one: WORDS.index(one.word))
    of: dict[str, list[str]] = {}
    for one in own:
        named = with_p(one.table, one) if corrected else one.table
        of.setdefault(in_prose(one.said, one.comparison.pairs), []).append(named)
    family = f" ({of_rows(corrected)})" if corrected else ""
    parts = [f"{said} on {listed(names)}" for said, names in of.items()]
    return f"{label} against {baseline}, {len(own)} table{'s' * (len(own) != 1)}{family}: {'; '.join(parts)}."


def of_rows(corrected: int) -> str:
    """What p is corrected for, in words."""
    return f"p corrected for {corrected} row{'s' * (corrected != 1)}"


def listed(names: list[str]) -> str:
    """Names joined by commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
