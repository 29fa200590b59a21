"""Committed verdicts on rows of the catalogue, kept with the package."""

import dataclasses
import importlib.resources
import json
from collections.abc import Iterable

from posenc_jax.files.shapes import Json
from posenc_jax.verdict.finding import in_prose

FILE = "evidence.json"


@dataclasses.dataclass(frozen=True)
class Evidence:
    """One row of the catalogue against one baseline.

    Attributes:
      label, baseline: names of the two.
      words: table -> what was seen.
      seeds: how many were compared.
      record: the card, a file of the repository.
    """

    label: str
    baseline: str
    words: dict[str, str]
    seeds: int
    record: str

    def __str__(self) -> str:
        """The evidence in words, such as ``against RoPE, 8 seeds: worse on parity; better on copy``."""
        of: dict[str, list[str]] = {}
        for table, word in self.words.items():
            of.setdefault(word, []).append(table)
        return f"against {self.baseline}, {self.seeds} seeds: " + "; ".join(
            f"{in_prose(word, self.seeds)} on {', '.join(tables)}" for word, tables in of.items()
        )


def evidence() -> tuple[Evidence, ...]:
    """All committed evidence, sorted by label."""
    text = (importlib.resources.files(__package__) / FILE).read_text(encoding="utf-8")
    return tuple(Evidence(**row) for row in json.loads(text))


def collected(cards: Iterable[tuple[str, Json]]) -> tuple[Evidence, ...]:
    """Evidence from cards, each with the name of its file (`posenc_jax.verdict.card.record`)."""
    found = [
        Evidence(
            label=label,
            baseline=baseline,
            words={
                own["table"]: own["said"]
                for own in card["findings"]
                if (own["label"], own["baseline"]) == (label, baseline)
            },
            seeds=len(card["seeds"]),
            record=file,
        )
        for file, card in cards
        for label in card["labels"]
        for baseline in card["baselines"]
    ]
    return tuple(sorted(found, key=lambda own: (own.label.lower(), own.baseline)))


def as_text(found: Iterable[Evidence]) -> str:
    """The file, a row a line."""
    rows = ",\n".join(json.dumps(dataclasses.asdict(own), ensure_ascii=False) for own in found)
    return f"[\n{rows}\n]\n"
