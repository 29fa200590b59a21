"""What the translator and the summariser of a small grammar write: from two finished runs to two pages.

    python -m experiments.translation.generated runs/sentences runs/reports

writes generated.json beside this file, from the runs, and its parts of the READMEs of translation and summarisation; of
one run alone its part of them.
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
from posenc_jax.runs.reporter import Reporter

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
OUTSIDE = (
    "The cat sat.",
    "The mouse chased.",
    "the cat sat on the mat.",
    "The cat sat on the mat on Monday.",
    "Although it was raining heavily.",
    "The dog and the cat slept in the garden.",
)
"""Sentences that the grammar does not make."""
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
    found = json.loads(RECORD.read_text())
    for run in map(Path, sys.argv[1:] if arguments is None else arguments):
        if load_config(run).task.name == "translation":
            found["scores"]["translation"] = _scores(run, "chrf")
            found["translations"] = translations(run)
        else:
            found["scores"]["summarization"] = _scores(run, "rouge_l")
            written = summarize(load_run(run), REPORTS)
            found["summaries"] = [
                {"document": text, "output": one.text} for text, one in zip(REPORTS, written, strict=True)
            ]
    RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    for path, text in pages(found).items():
        path.write_text(text)


def translations(run: Path) -> list[Json]:
    """Each sentence, what the run writes, whether it was trained on, and whether the command notes anything."""
    trained, loaded, found = {row["en"].rstrip(".") for row in load_source("grammar/en-de", "train")}, load_run(run), []
    for text in SENTENCES + OUTSIDE:
        (output,) = translate(loaded, [text], reporter=(notes := _Notes()))
        known = text.rstrip(".") in trained
        found.append({"en": text, "output": output.text, "trained on": known, "noted": notes.noted})
    return found


class _Notes(Reporter):
    """Whether anything was noted."""

    noted = False

    def note(self, text: str) -> None:
        self.noted = True


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
    told = {True: "yes", False: "no"}
    translations = [
        [escaped(one["en"]), escaped(one["output"]), told[one["trained on"]], told[one["noted"]]]
        for one in found["translations"]
    ]
    summaries = [[escaped(one["document"]), escaped(one["output"])] for one in found["summaries"]]
    tables = {
        HERE / "README.md": grid(["English", "translated", "in training", "noted"], "llll", translations),
        HERE.parent / "summarization" / "README.md": grid(["report", "summary"], "ll", summaries),
    }
    return {path: refilled(path.read_text(), BEGIN, table, END) for path, table in tables.items()}


if __name__ == "__main__":
    main()
