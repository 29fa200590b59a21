"""What a summary scores that is only copied from the beginning of its description.

    python -m experiments.summarization.lead

No model: ROUGE-L of the first words of the test descriptions, and the share of a synopsis's words that stand in the
first 45 words (some 64 tokens, what the models are trained on). Writes lead.json.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from posenc_jax.data.corpora.source import load_source
from posenc_jax.data.metrics import rouge

RECORD = Path(__file__).with_name("lead.json")
SHOWN = 45


def main() -> None:
    """Writes the record."""
    rows = list(load_source("descriptions/summaries", "test"))
    references = [row["summary"] for row in rows]
    cut = {n: [" ".join(row["document"].split()[:n]) for row in rows] for n in (8, SHOWN)}
    behind = [behind_the_verb(row["document"]) for row in rows]
    there = [
        sum(word in set(words(text)) for word in words(reference)) / max(1, len(words(reference)))
        for text, reference in zip(cut[SHOWN], references, strict=True)
    ]
    found = {
        "first 8 words": round(rouge(cut[8], references)["rougeL"], 3),
        "8 words behind the first verb": round(rouge(behind, references)["rougeL"], 3),
        "share of summary words in the text": round(sum(there) / len(there), 3),
    }
    RECORD.write_text(json.dumps(found, indent=1) + "\n")


def behind_the_verb(document: str) -> str:
    """Eight words behind "is a", "provides" and the like in the first sentence, or its first eight."""
    first = re.split(r"(?<=[.!?])\s", document)[0]
    match = re.search(r"\b(?:is|are|provides|contains)\s+(?:an?|the)?\s*(.*)", first)
    return " ".join((match[1] if match else first).split()[:8])


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


if __name__ == "__main__":
    main()
