"""Looks: what earlier cards said of the rows of a card, and what it costs to look again.

Seeds that are added until a word comes would say "better" or "worse" of equal arms in far more than 5 of 100 questions.
So looks have a fixed schedule. A row is two encodings and a table, each with its config.

- A row is judged at 0.05 for the first time, and at a tenth of its last level for each earlier look that saw no
  difference in it: at 0.005, 0.0005 and so on. All looks together have at most 0.05 (1 + 0.1 + 0.01 + ...) < 0.056, and
  less in simulations of repeated looks, whose scores are largely the same: at most 5.5 of 100 cards.
- A look at which a row cannot be told, or is not measurable, has no word and costs nothing.
- Rows of earlier cards of the same encoding and baseline that a card does not have are corrected together with its
  own: choosing tables after a card of ten leaves a correction for ten.

`experiments/looks` has the simulation.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from posenc_jax.files.shapes import Json
from posenc_jax.statistics import Word as Tested

FACTOR = 10
"""The factor of p for each earlier look that saw no difference."""
NO_WORD: Tested = "no difference seen"
Pair = tuple[str, str, str]
"""Label, table and baseline."""


class EarlierRow(NamedTuple):
    """A row of an earlier card.

    Attributes:
      configs: digests of both arms' configs.
      p: two-sided, of the row alone.
    """

    label: str
    table: str
    baseline: str
    configs: tuple[str, ...]
    seeds: tuple[int, ...]
    p: float | None
    word: str

    @property
    def row(self) -> tuple[str, ...]:
        """What the row is, its seeds apart."""
        return (self.label, self.table, self.baseline, *self.configs)

    @property
    def turned(self) -> "EarlierRow":
        """The same comparison as a row of the other arm."""
        word = {"better": "worse", "worse": "better", "did not learn": "better"}.get(self.word, self.word)
        return self._replace(label=self.baseline, baseline=self.label, configs=self.configs[::-1], word=word)


def rows_of(card: Json) -> list[EarlierRow]:
    """The rows of a card's record, those with twice the steps after the others."""
    cells = card["measured"]
    own = [
        EarlierRow(
            *(found["label"], found["table"], found["baseline"]),
            configs=tuple(cells[label][found["table"]]["config"] for label in (found["label"], found["baseline"])),
            seeds=tuple(card["seeds"]),
            p=found["comparison"]["p"],
            word=found["word"],
        )
        for found in card["findings"]
    ]
    return own + (rows_of(card["twice"]) if card["twice"] else [])


def looks_at(earlier: Iterable[EarlierRow], row: tuple[str, ...], seeds: tuple[int, ...]) -> int:
    """How often other seeds saw no difference in a row."""
    return len({own.seeds for own in earlier if own.row == row and own.seeds != seeds and own.word == NO_WORD})


def times(
    earlier: Iterable[EarlierRow], configs: Mapping[Pair, tuple[str, ...]], seeds: tuple[int, ...]
) -> dict[Pair, float]:
    """The factor of every row's p."""
    return {pair: float(FACTOR ** looks_at(earlier, (*pair, *own), seeds)) for pair, own in configs.items()}


def elsewhere(earlier: Iterable[EarlierRow], rows: Iterable[tuple[str, ...]]) -> tuple[float, ...]:
    """p of the rows that only earlier cards have, each of its most seeds."""
    ordered = sorted(earlier, key=lambda own: len(own.seeds))
    last = {own.row: own.p for own in ordered if own.p is not None}
    return tuple(p for row, p in last.items() if row not in {*rows})


def named(seeds: tuple[int, ...]) -> str:
    """Seeds in words.

    >>> named((0, 1, 2, 3)), named((0, 2, 5))
    ('0 to 3', '0, 2, 5')
    """
    whole = len(seeds) > 2 and seeds == tuple(range(seeds[0], seeds[0] + len(seeds)))
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))
