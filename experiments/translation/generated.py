"""What the translator and the summariser of a small grammar write: from two finished runs to two pages.

    python -m experiments.translation.generated runs/sentences runs/reports

writes generated.json beside this file, from the runs, and its parts of the READMEs of translation and summarisation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora.source import load_source
from posenc_jax.drawing.markdown import escaped, grid, refilled
from posenc_jax.runs.directory import finished, group_directories, load_config
from posenc_jax.runs.inference import load_run, summarize, translate

HERE = Path(__file__).parent
RECORD = HERE / "generated.json"
BEGIN, END = "<!-- Generated: written by generated.py -->", "<!-- end of generated -->"
SENTENCES = (
    "The cat sat on the mat.",
    "The mat sat on the cat.",
    "John loves Mary.",
    "Mary loves John.",
    "The cat chased the mouse.",
    "The mouse chased the cat.",
    "Although it was raining heavily, she decided to go for a walk.",
    "The quick brown fox jumped over the lazy dog.",
)
REPORTS = (
    "The old dog chased a small cat. On Monday the cat sat on the mat. John saw Mary. In the end Mary helped the small "
    "cat.",
    "On Monday the cat sat on the mat. The old dog chased a small cat. In the end Mary helped the small cat. John saw "
    "Mary.",
)
"""The second has the sentences of the first in another order, its end in the middle."""

Json = dict[str, Any]


def main(arguments: list[str] | None = None) -> None:
    """Writes the record and both pages."""
    sentences, reports = map(Path, sys.argv[1:] if arguments is None else arguments)
    found = measured(sentences, reports)
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    for path, text in pages(found).items():
        path.write_text(text)


def measured(sentences: Path, reports: Path) -> Json:
    """What both runs write of the texts above, and their scores on the test texts of their corpora."""
    trained = {row["en"].rstrip(".") for row in load_source("grammar/en-de", "train")}
    written = translate(load_run(sentences), SENTENCES)
    summaries = summarize(load_run(reports), REPORTS)
    return {
        "scores": {str(one["task"]): one for one in (_scores(sentences, "chrf"), _scores(reports, "rouge_l"))},
        "translations": [
            {"en": text, "output": output.text, "trained on": text.rstrip(".") in trained}
            for text, output in zip(SENTENCES, written, strict=True)
        ],
        "summaries": [
            {"document": text, "output": output.text} for text, output in zip(REPORTS, summaries, strict=True)
        ],
    }


def _scores(run: Path, metric: str) -> Json:
    (group,), config = group_directories(run), load_config(run)
    result = finished(group)
    (replica,) = result["replicas"]
    return {
        "task": config.task.name,
        "seed": replica["seed"],
        "config": result["config_hash"],
        "num_parameters": result["num_parameters"],
        "steps": config.training.steps,
        metric: {config.task.length_name(row["length"]): round(row[metric], 6) for row in replica["evaluation"]},
    }


def pages(found: Json) -> dict[Path, str]:
    """Both READMEs with their parts."""
    translations = [
        [escaped(one["en"]), escaped(one["output"]), "yes" if one["trained on"] else "no"]
        for one in found["translations"]
    ]
    summaries = [[escaped(one["document"]), escaped(one["output"])] for one in found["summaries"]]
    tables = {
        HERE / "README.md": grid(["English", "translated", "in training"], "lll", translations),
        HERE.parent / "summarization" / "README.md": grid(["report", "summary"], "ll", summaries),
    }
    return {path: refilled(path.read_text(), BEGIN, table, END) for path, table in tables.items()}


if __name__ == "__main__":
    main()
