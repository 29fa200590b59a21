"""The card: what a verdict found, as data."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from posenc_jax.data.score_kinds import ScoreKind
from posenc_jax.files.shapes import Json
from posenc_jax.statistics import CLAIM_SEEDS
from posenc_jax.verdict.finding import TIED, Finding, Scored, sentence
from posenc_jax.verdict.headline import headline
from posenc_jax.verdict.looks import EarlierRow, Pair, elsewhere, times
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.other_scores import WAYS
from posenc_jax.verdict.question import KeptQuestion
from posenc_jax.verdict.rule import RULE, findings, p_values

SCHEMA = 4
"""The version of `record`. Within one, members are only added; files without it are earlier ones."""
_Arms = Mapping[str, Mapping[str, Measured]]


@dataclasses.dataclass(frozen=True)
class Card:
    """A verdict.

    Attributes:
      labels: the encodings that are judged.
      baselines: those that each is compared with.
      tables: name -> question, in order.
      measured: label -> table -> scores.
      findings: of every baseline and table, after the last step of training.
      otherwise: of other ways to score.
      seeds: those compared.
      environments: versions, processor or device and commit of the runs, each once, whoever made them.
      seconds: of all runs behind it.
      elsewhere: what differs between these environments by which results differ by rounding.
      unequal: a line for every arm of a finished ablation that differs from its baseline in more than the encoding, and
        for every earlier card that is of another version.
      earlier: the rows of earlier cards of the same encodings and baselines.
      twice: the encodings that did not learn a table, or whose baseline did not, beside all baselines there, trained
        once more with twice the steps.
    """

    labels: tuple[str, ...]
    baselines: tuple[str, ...]
    tables: Mapping[str, KeptQuestion]
    measured: Mapping[str, Mapping[str, Measured]]
    seeds: tuple[int, ...]
    environments: tuple[Json, ...]
    seconds: float
    findings: tuple[Finding, ...] = ()
    otherwise: tuple[Finding, ...] = ()
    elsewhere: tuple[str, ...] = ()
    unequal: tuple[str, ...] = ()
    earlier: tuple[EarlierRow, ...] = ()
    twice: Card | None = None

    @property
    def label(self) -> str:
        """The encoding that is judged, or how many there are."""
        return self.labels[0] if len(self.labels) == 1 else f"{len(self.labels)} encodings"

    @property
    def arms(self) -> tuple[str, ...]:
        """All labels, those of the baselines last."""
        return (*self.labels, *self.baselines)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The verdict in words, one sentence an encoding and baseline; of few seeds it is called a hint."""
        return self._sentences()

    def _sentences(self, corrected: int = 0) -> tuple[str, ...]:
        end = "." if self.fewest >= CLAIM_SEEDS else f" ({self.fewest} seeds: a hint)."
        pairs = ((label, baseline) for label in self.labels for baseline in self.baselines)
        said = (sentence(self.findings, *pair, corrected) for pair in pairs)
        return tuple(own.removesuffix(".") + end for own in said)

    @property
    def needs_more_seeds(self) -> bool:
        """True where the words are of too few seeds for a claim, or a row cannot be told with so many, and can with
        more.
        """
        return self.seeds_needed is not None

    @property
    def seeds_needed(self) -> int | None:
        """The number of seeds for a claim in every row, if as many diverge again; None where these suffice."""
        cases = [own.best_case for own in self.findings if own.word == "cannot be told"]
        least = [CLAIM_SEEDS] * (self.fewest < CLAIM_SEEDS)
        least += [case.would_do for case in cases if case is not None and case.would_do is not None]
        return max(least) + len(self.seeds) - self.fewest if least else None

    @property
    def fewest(self) -> int:
        """The fewest pairs of seeds of a row: fewer than there are seeds where some diverged."""
        return min((own.comparison.pairs for own in self.findings), default=len(self.seeds))

    def orderless(self, label: str, table: str) -> bool:
        """True of an arm that is an encoder without positions, which does not see the order of tokens."""
        return self.tables[table].model == "encoder_only" and self.measured[label][table].spec == "nope"

    @property
    def headline(self) -> tuple[str, ...]:
        """The card in at most five sentences."""
        of = self._sentences(self.corrected), self.measured, self.findings, self.kinds
        return headline(*of, self.seeds, self.earlier, self.corrected)

    @property
    def trainings(self) -> tuple[Card, ...]:
        """The card, and the one with twice the steps if there is one."""
        return (self,) if self.twice is None else (self, self.twice)

    @property
    def configs(self) -> dict[Pair, tuple[str, ...]]:
        """Row -> digests of its arms' configs."""
        return {
            (label, table, own): (by_table[table].config, self.measured[own][table].config)
            for label, by_table in ((label, self.measured[label]) for label in self.labels)
            for own in self.baselines
            for table in self.tables
            if table in by_table and table in self.measured[own]
        }

    @property
    def only_earlier(self) -> tuple[float, ...]:
        """p of the rows that only earlier cards have."""
        here = [(*pair, *own) for card in self.trainings for pair, own in card.configs.items()]
        return elsewhere(self.earlier, here)

    @property
    def corrected(self) -> int:
        """How many rows are corrected together."""
        return sum(len(own.findings) for own in self.trainings) + len(self.only_earlier)

    @property
    def kinds(self) -> dict[str, ScoreKind]:
        """Table -> what its score is."""
        return {name: table.kind for name, table in self.tables.items()}


def judged(card: Card, of: Callable[[KeptQuestion, Measured], Measured] = lambda _, measured: measured) -> Card:
    """The card with the findings that its scores give, and those with twice the steps.

    Args:
      of: applied to every cell before it is judged.
    """
    card = _measured_by(card, of)
    prices = [times(card.earlier, own.configs, own.seeds) for own in card.trainings]
    first, *second = (p_values(*_sides(own), price) for own, price in zip(card.trainings, prices, strict=True))
    twice = None if card.twice is None else _with_words(card.twice, prices[1], (*first, *card.only_earlier))
    later = {} if twice is None else {(own.label, own.table, own.baseline): own for own in twice.findings}
    card = _with_words(card, prices[0], (*sum(second, ()), *card.only_earlier))
    found = (_with_twice(own, later.get((own.label, own.table, own.baseline))) for own in card.findings)
    return dataclasses.replace(card, twice=twice, findings=tuple(found))


def _measured_by(card: Card, of: Callable[[KeptQuestion, Measured], Measured]) -> Card:
    measured = {
        label: {name: of(card.tables[name], own) for name, own in by_table.items()}
        for label, by_table in card.measured.items()
    }
    twice = None if card.twice is None else _measured_by(card.twice, of)
    return dataclasses.replace(card, measured=measured, twice=twice)


def _sides(card: Card) -> tuple[Mapping[str, KeptQuestion], _Arms, _Arms]:
    ours, theirs = ({label: card.measured[label] for label in own} for own in (card.labels, card.baselines))
    return card.tables, ours, theirs


def _with_words(card: Card, price: Mapping[Pair, float], others: tuple[float, ...]) -> Card:
    cells = [cell for own in card.measured.values() for cell in own.values()]
    ways = [way for way in (*WAYS, TIED) if any(cell.otherwise.get(way) for cell in cells)]
    final = findings(*_sides(card), times=price, others=others)
    untold = {(own.label, own.table, own.baseline) for own in final if own.word == "cannot be told"}

    def by(way: Scored) -> tuple[Finding, ...]:
        """Those at other tied rates are corrected as the card's rows are, and have no word where these have none."""
        if way != TIED:
            return findings(*_sides(card), way)
        found = findings(*_sides(card), way, price, others)
        silent = [(own.label, own.table, own.baseline) in untold for own in found]
        return tuple(dataclasses.replace(f, word="cannot be told") if no else f for f, no in zip(found, silent))

    return dataclasses.replace(card, findings=final, otherwise=tuple(found for way in ways for found in by(way)))


def _with_twice(found: Finding, later: Finding | None) -> Finding:
    """The finding with what a second training found, where an arm did not learn the task."""
    if later is None or False not in found.learned:
        return found
    return dataclasses.replace(
        found, with_twice=later.word, learned_with_twice=later.learned, unseen_with_twice=later.unseen
    )


def record(card: Card) -> Json:
    """The card as JSON: every number that it shows, and every seed's scores behind them."""
    return {
        "schema": SCHEMA,
        "rule": RULE,
        "needs_more_seeds": card.needs_more_seeds,
        "label": card.label,
        "labels": list(card.labels),
        "baselines": list(card.baselines),
        "verdict": list(card.sentences),
        "findings": [_finding(own) for own in card.findings],
        "otherwise": [_finding(own) for own in card.otherwise],
        "measured": {
            label: {name: _measured(measured) for name, measured in by_table.items()}
            for label, by_table in card.measured.items()
        },
        "tables": {name: asked.record for name, asked in card.tables.items()},
        "seeds": list(card.seeds),
        "environments": list(card.environments),
        "elsewhere": list(card.elsewhere),
        "unequal": list(card.unequal),
        "earlier": _members(card.earlier),
        "twice": None if card.twice is None else record(card.twice),
        "seconds": card.seconds,
    }


def _finding(finding: Finding) -> Json:
    return {**_members(finding), "said": finding.said}


def _members(value: Any) -> Any:
    """Values as JSON has them: tuples with names become objects, and numbers that JSON does not have null."""
    if hasattr(value, "_asdict"):
        return _members(value._asdict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _members(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _members(member) for name, member in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return [_members(member) for member in value] if isinstance(value, list | tuple) else value


def _measured(measured: Measured) -> Json:
    elsewhere = ("by_metric", "environments")  # by length, and of all together, once
    kept = {name: value for name, value in _members(measured).items() if name not in elsewhere}
    return kept | {"by_length": _members(measured.by_length)}
