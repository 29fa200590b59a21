"""What is said of the models of the grammar's texts is what was recorded of them."""

import json
from pathlib import Path

import pytest

from experiments.summarization import copied
from experiments.translation import generated

ROOT = Path(__file__).parent.parent
FOUND = json.loads(generated.RECORD.read_text())


def test_the_pages_have_what_was_recorded():
    assert [one["en"] for one in FOUND["translations"]] == [*generated.SENTENCES, *generated.OUTSIDE]
    inside = [False] * len(generated.SENTENCES)
    assert [one["noted"] for one in FOUND["translations"]] == [*inside, True, True, True, True, False, False]
    assert [one["document"] for one in FOUND["summaries"]] == list(generated.REPORTS)
    for path, text in generated.pages(FOUND).items():
        assert path.read_text() == text, "python -m experiments.translation.generated"


def test_copied_beginnings_score_more_than_the_models():
    folder = ROOT / "experiments" / "summarization"
    lead, page = json.loads((folder / "lead.json").read_text()), (folder / "README.md").read_text()
    assert all(f"{value:.3f}" in page for value in lead.values())
    means = json.loads((folder / "results.json").read_text())["means"]
    best = max(row["mean"] for row in means if row["score"] == "rouge_l" and row["length"] is not None)
    assert best < lead["first 8 words"] < lead["8 words behind the first verb"]


def test_the_page_has_what_the_larger_budgets_copied():
    found = json.loads(copied.RECORD.read_text())
    assert list(found) == sorted(copied.LABELS)
    assert copied.page(found) == copied.README.read_text(), "python -m experiments.summarization.copied"
    ours = json.loads((copied.README.parent / "budgets.json").read_text())["means"]
    for label, row in found.items():
        (mean,) = (m["mean"] for m in ours if (m["label"], m["score"], m["length"]) == (label, "rouge_l", 64))
        assert row["what was written"] == pytest.approx(mean, abs=5e-4)
