"""How much of what the models of budgets.py write stands in the text that they read?

    python -m experiments.summarization.copied runs/summarization-budgets

From the outputs that the ablation kept, of texts of at most 64 tokens; with ROUGE-L of beginnings of the same texts.
Writes copied.json and its part of README.md.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from experiments.summarization.lead import beginnings, rouge_l, words
from posenc_jax.drawing.markdown import grid, refilled

RECORD = Path(__file__).with_name("copied.json")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- Copied: written by copied.py -->", "<!-- end of copied -->"
LONGEST = 64
LABELS = ("short", "longer", "larger")


def main(ablation: Path) -> None:
    """Writes the record and the page."""
    found = {}
    for path in sorted(ablation.glob("*/group-*/decoded.jsonl")):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        lines = [line for line in lines if line["length"] <= LONGEST]
        label = json.loads((path.parent.parent / "config.json").read_text())["config"]["label"]
        found[label] = {
            "texts": len(lines),
            "written words in the text": _share(lines, "output"),
            "reference words in the text": _share(lines, "summary"),
            **beginnings(lines),
            "what was written": rouge_l([line["output"] for line in lines], lines),
        }
    RECORD.write_text(json.dumps(found, indent=1) + "\n")
    README.write_text(page(found))


def page(found: dict[str, dict[str, float]]) -> str:
    """The page with the numbers of a record."""
    columns = [name for name in found[LABELS[0]] if name != "texts"]
    rows = [[label, *(f"{found[label][name]:.3f}" for name in columns)] for label in LABELS]
    named = [name if name.endswith("in the text") else "ROUGE-L of " + name for name in columns]
    return refilled(README.read_text(), BEGIN, grid(["model", *named], "l" + "r" * len(columns), rows), END)


def _share(lines: list[dict[str, str]], column: str) -> float:
    """The share of a column's words that the documents have, over all texts."""
    there = [word in set(words(line["document"])) for line in lines for word in words(line[column])]
    return round(sum(there) / max(1, len(there)), 3)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
