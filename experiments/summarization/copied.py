"""How much of what the models of budgets.py write stands in the text that they read?

    python -m experiments.summarization.copied runs/summarization-budgets

From the outputs that the ablation kept, texts of at most 64 tokens. Writes copied.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from experiments.summarization.lead import words
from posenc_jax.data.metrics import rouge

RECORD = Path(__file__).with_name("copied.json")
LONGEST = 64


def main(ablation: Path) -> None:
    """Writes the record."""
    found = {}
    for path in sorted(ablation.glob("*/group-*/decoded.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        lines = [line for line in lines if line["length"] <= LONGEST]
        label = json.loads((path.parent.parent / "config.json").read_text())["config"]["label"]
        found[label] = {
            "texts": len(lines),
            "written words in the text": _share(lines, "output"),
            "reference words in the text": _share(lines, "summary"),
            "empty": sum(not words(line["output"]) for line in lines),
            "first 8 words": round(
                rouge([" ".join(line["document"].split()[:8]) for line in lines], [line["summary"] for line in lines])[
                    "rougeL"
                ],
                3,
            ),
        }
    RECORD.write_text(json.dumps(found, indent=1) + "\n")


def _share(lines: list[dict[str, str]], column: str) -> float:
    """The share of a column's words that the documents have, over all texts."""
    there = [word in set(words(line["document"])) for line in lines for word in words(line[column])]
    return round(sum(there) / max(1, len(there)), 3)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
