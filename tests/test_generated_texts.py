"""What is said of the models of the grammar's texts is what was recorded of them."""

import ast
import json
from pathlib import Path

import pytest

from experiments.summarization import budgets, copied
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


@pytest.mark.parametrize(
    ("config", "task", "metric"),
    [("sentences", "translation", "chrf"), ("reports", "summarization", "rouge_l")],
)
def test_docstrings_have_the_recorded_scores(config, task, metric):
    docstring = " ".join(ast.get_docstring(ast.parse((ROOT / "configs" / f"{config}.py").read_text())).split())
    scores = FOUND["scores"][task][metric]
    if metric == "chrf":
        first, second, third = (f"{scores[length]:.1f} at {length}" for length in scores)
        assert f"chrF {first} tokens, {second} and {third}" in docstring
    else:
        assert set(scores.values()) == {1.0}
        assert "ROUGE-L 1.000 at all lengths" in docstring
    assert f"(seed {FOUND['scores'][task]['seed']})" in docstring or FOUND["scores"][task]["seed"] == 0


def test_copied_beginnings_score_more_than_the_models():
    folder = ROOT / "experiments" / "summarization"
    lead, page = json.loads((folder / "lead.json").read_text()), (folder / "README.md").read_text()
    assert all(f"{value:.3f}" in page for value in lead.values())
    means = json.loads((folder / "results.json").read_text())["means"]
    best = max(row["mean"] for row in means if row["score"] == "rouge_l" and row["length"] is not None)
    assert best < lead["first 8 words"] < lead["8 words behind the first verb"]


def budget(label):
    (run,) = (run for run in budgets.config.runs if run.label == label)
    return run


def test_the_page_has_what_the_larger_budgets_copied():
    found = json.loads(copied.RECORD.read_text())
    assert list(found) == sorted(copied.LABELS)
    assert copied.page(found) == copied.README.read_text(), "python -m experiments.summarization.copied"
    ours = json.loads((copied.README.parent / "budgets.json").read_text())["means"]
    for label, row in found.items():
        (mean,) = (m["mean"] for m in ours if (m["label"], m["score"], m["length"]) == (label, "rouge_l", 64))
        assert row["what was written"] == pytest.approx(mean, abs=5e-4)
    docstring = " ".join(ast.get_docstring(ast.parse((copied.README.parent / "budgets.py").read_text())).split())
    longer, larger, short = (found[label]["what was written"] for label in ("longer", "larger", "short"))
    assert f"{longer:.3f} with more steps, {larger:.3f} with more parameters, {short:.3f} as in small.py" in docstring
    said = copied.README.read_text().partition("More steps were needed")[2]
    assert f"ROUGE-L grows from {short:.3f} to {longer:.3f}" in said
    share = "written words in the text"
    assert f"{found['longer'][share]:.3f} stands in the text, not {found['short'][share]:.3f}" in said
    assert f"on the same texts, {found['longer']['8 words behind the first verb']:.3f}" in said
    larger = f"{larger:.3f} with {budget('larger').training.steps:,} steps of the larger model"
    assert larger in said
    per_epoch = 772  # training steps: the 28,135 examples that fit fill 9,271 rows for seed 0, 9,268 for seed 4
    short, longer, larger = (f"{budget(label).training.steps / per_epoch:.1f} epochs" for label in copied.LABELS)
    assert f"1,200 steps of 12 packed rows of 256 tokens, {short}; " in copied.README.read_text()
    assert f"with {budget('longer').training.steps:,}, {longer}, " in said
    assert f"{larger} against {longer.removesuffix(' epochs')}, " in said
