"""What a summary scores that is only copied from the beginning of its description.

    python -m experiments.summarization.lead

No model: ROUGE-L of the first words of the test descriptions, and the share of a synopsis's words that stand in the
first 45 words (some 64 tokens, what the models are trained on). Writes lead.json.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from posenc_jax.data.corpora.source import load_source
from posenc_jax.data.metrics import rouge

RECORD = Path(__file__).with_name("lead.json")
SHOWN = 45


def main() -> None:
    """Writes the record."""
    rows = list(load_source("own/descriptions-summaries", "test"))
    there = [
        sum(word in set(words(_first(row["document"], SHOWN))) for word in words(row["summary"]))
        / max(1, len(words(row["summary"])))
        for row in rows
    ]
    found = beginnings(rows) | {"share of summary words in the text": round(sum(there) / len(there), 3)}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")


def beginnings(rows: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """ROUGE-L of what is copied from the beginning of each document."""
    documents = [row["document"] for row in rows]
    return {
        "first 8 words": rouge_l([_first(document, 8) for document in documents], rows),
        "8 words behind the first verb": rouge_l([_behind_the_verb(document) for document in documents], rows),
    }


def rouge_l(written: list[str], rows: Sequence[Mapping[str, str]]) -> float:
    """ROUGE-L of what was written for each row, to three places."""
    return round(rouge(written, [row["summary"] for row in rows])["rougeL"], 3)


def _first(document: str, count: int) -> str:
    return " ".join(document.split()[:count])


def _behind_the_verb(document: str) -> str:
    """Eight words behind "is a", "provides" and the like in the first sentence, or its first eight."""
    first = re.split(r"(?<=[.!?])\s", document)[0]
    match = re.search(r"\b(?:is|are|provides|contains)\s+(?:an?|the)?\s*(.*)", first)
    return _first(match[1] if match else first, 8)


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


if __name__ == "__main__":
    main()
