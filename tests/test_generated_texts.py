"""What experiments write into pages is of their records, one test for all; and what is said of generated texts."""

import ast
import json
from pathlib import Path

import pytest

from experiments.context import directions, planes, recalibrated, smollm2, surgery
from experiments.periodicity import excess, power, probe, share
from experiments.sizes import page as sizes
from experiments.summarization import copied, sources
from experiments.translation import generated
from experiments.word_order import recurrent, shuffled, trained
from posenc_jax.drawing.markdown import refilled

ROOT = Path(__file__).parent.parent
FOUND = json.loads(generated.RECORD.read_text())


def read(path):
    return json.loads(path.read_text())


def part(module, made):
    """The README of a module with what it makes of its record."""
    return {module.README: refilled(module.README.read_text(), module.BEGIN, made(read(module.RECORD)), module.END)}


def page(path, filled, record):
    return {path: filled(path.read_text(), read(record))}


WRITTEN = {
    "context.directions": lambda: part(directions, directions.page),
    "context.recalibrated": lambda: part(recalibrated, directions.page),
    "context.surgery": lambda: part(surgery, surgery.page),
    "context.planes": lambda: part(planes, lambda found: planes.page(found, planes.costs_of_layers())),
    **{
        f"context.smollm2 ({study})": lambda study=study: {
            smollm2.README: smollm2.filled(smollm2.README.read_text(), study)
        }
        for study in smollm2.STUDIES
    },
    "periodicity.share": lambda: {
        share.PAGE: share.page(read(share.FILE), read(power.FILE)),
        **{path: share.filled(path.read_text(), read(share.FILE)) for path in share.pages()},
    },
    "periodicity.excess --write": lambda: page(excess.PAGE, excess.filled, excess.FILE),
    "periodicity.probe RUN --write": lambda: page(probe.PAGE, probe.filled, probe.FILE),
    "sizes.page": lambda: sizes.pages(sizes.kept()),
    "summarization.copied": lambda: {copied.README: copied.page(read(copied.RECORD))},
    "summarization.sources": lambda: part(sources, sources.page),
    "translation.generated": lambda: generated.pages(FOUND),
    **{
        f"word_order.{own.__name__.rpartition('.')[2]}": lambda own=own: part(own, own.page)
        for own in (shuffled, trained, recurrent)
    },
}
"""What follows ``python -m experiments.`` -> what it would write: page -> text."""


@pytest.mark.parametrize("command", WRITTEN)
def test_the_page_is_of_its_record(command):
    texts = WRITTEN[command]()
    assert texts
    for path, text in texts.items():
        assert path.read_text() == text, f"{path}: run python -m experiments.{command}"


def test_generated_texts_are_of_the_sentences_and_reports_that_were_asked():
    assert [one["en"] for one in FOUND["translations"]] == [*generated.SENTENCES, *generated.OUTSIDE]
    inside = [False] * len(generated.SENTENCES)
    assert [one["noted"] for one in FOUND["translations"]] == [*inside, True, True, True, True, False, False]
    assert [one["document"] for one in FOUND["summaries"]] == list(generated.REPORTS)


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
    lead, text = read(folder / "lead.json"), (folder / "README.md").read_text()
    assert all(f"{value:.3f}" in text for value in lead.values())
    means = read(folder / "results.json")["means"]
    best = max(row["mean"] for row in means if row["score"] == "rouge_l" and row["length"] is not None)
    assert best < lead["first 8 words"] < lead["8 words behind the first verb"]
