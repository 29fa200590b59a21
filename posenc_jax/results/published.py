"""Published results that stand beside ours, and where they come from."""

from __future__ import annotations

import dataclasses

from posenc_jax.shapes import Json


@dataclasses.dataclass(frozen=True)
class PublishedResult:
    """A published result: a verified value, or only a direction in words."""

    value: float | None
    direction: str
    metric: str
    lengths: str
    source: str


def read_published(info: Json, task_label: str, label: str) -> tuple[PublishedResult, ...]:
    """Published results in ``ablation.json`` for one encoding on one task."""
    return tuple(
        PublishedResult(
            row.get("value"), *(row.get(field) or "" for field in ("direction", "metric", "lengths", "source"))
        )
        for row in info.get("published") or ()
        if (row["task_label"], row["label"]) == (task_label, label)
        and (row.get("value") is not None or row.get("direction"))
    )


def published_notes(info: Json, task_label: str, labels: list[str]) -> list[str]:
    """Sources of the published column, each once."""
    notes = []
    sources: dict[str, list[str]] = {}
    for label in labels:
        for row in read_published(info, task_label, label):
            sources.setdefault(" ".join(filter(None, (row.source, row.metric and f"({row.metric})"))), []).append(label)
    for source, cited in sources.items():
        whose = "" if len(sources) == 1 else f" for {', '.join(dict.fromkeys(cited))}"
        notes.append(f"Published{whose}: {source}.")
    if any(row.value is None for label in labels for row in read_published(info, task_label, label)):
        notes.append("Where the published column has words, only the direction is verified, not a number.")
    return notes
