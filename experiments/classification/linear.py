"""Scores of a linear model on words on the same pages, and the numbers of pages: linear.json, and its table.

    python -m experiments.corpora.make help-modules
    python -m experiments.classification.linear     # seconds

Linear support vectors, and once logistic regression, on TF-IDF of words, all with the defaults of scikit-learn.
Pages are read to their end. Scored on all validation and test pages, by which nothing was chosen.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from experiments.classification.small import plain
from experiments.records import NAMED, short
from posenc_jax.cli.errors import guarded
from posenc_jax.cli.session import prepare_jax
from posenc_jax.data.text.loading import load, open_split
from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.files.atomic import write_atomically
from posenc_jax.runs.environment import environment

HERE = Path(__file__).parent
README, RECORD = HERE / "README.md", HERE / "linear.json"
BEGIN, END = "<!-- Linear: written by linear.py -->", "<!-- end of linear -->"
ALL = ("header", "body", "footer")
READ = {
    "whole page": (ALL, LinearSVC),
    "whole page, logistic regression": (ALL, LogisticRegression),
    **{section: ((section,), LinearSVC) for section in ALL},
}

Json = dict[str, Any]


def measured() -> Json:
    """Accuracies by what is read, and the numbers of pages."""
    splits = {name: list(open_split(plain.task, name)) for name in ("train", "validation", "test")}
    test = splits["validation"] + splits["test"]
    labels, wanted = ([row["label"] for row in rows] for rows in (splits["train"], test))
    accuracy = {}
    for part, (sections, classifier) in READ.items():

        def texts(rows: list[dict[str, str]], sections: tuple[str, ...] = sections) -> list[str]:
            return ["\n".join(row[section] for section in sections) for row in rows]

        model = make_pipeline(TfidfVectorizer(), classifier())
        model.fit(texts(splits["train"]), labels)
        accuracy[part] = model.score(texts(test), wanted)
    most = max(set(labels), key=labels.count)
    accuracy["always the commonest"] = wanted.count(most) / len(wanted)
    kept = {name: value for name, value in environment().items() if name in NAMED}
    return short(
        {
            "accuracy": accuracy,
            "scored pages": len(test),
            "commonest": most,
            "pages": _pages(),
            "environment": {**kept, "scikit-learn": sklearn.__version__},
        }
    )


def _pages() -> Json:
    """Numbers of pages that the models of small.py are trained, chosen and tested on, and of those that are cut."""
    found = load(plain.task)
    lengths = np.asarray(found.arrays["test_lengths"])
    edges = (0, *plain.evaluation.lengths)
    tested = {
        f"{a + 1} to {b} tokens": int(((lengths > a) & (lengths <= b)).sum()) for a, b in itertools.pairwise(edges)
    }
    train = found.identity["train"]
    return {
        "train": train["examples"],
        "train, cut": train["truncated"],
        "validation": found.identity["validation"]["examples"],
        "test": tested,
    }


def page(found: Json) -> str:
    """The table of the README."""
    rows = [[name, f"{value:.3f}"] for name, value in found["accuracy"].items()]
    return grid(["read", f"accuracy, {found['scored pages']} pages"], "lr", rows)


def main() -> int:
    """Measures, and writes both files."""
    prepare_jax()
    found = measured()
    write_atomically(RECORD, json.dumps(found, indent=1) + "\n")
    write_atomically(README, refilled(README.read_text(), BEGIN, page(found), END))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
