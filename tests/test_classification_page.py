"""The page of the classifier says what its records have."""

from __future__ import annotations

import json
import statistics

from experiments.classification import linear, weights
from experiments.classification.small import plain
from posenc_jax.statistics import mean_interval

FOUND = json.loads(linear.RECORD.read_text())
README = " ".join(linear.README.read_text().split())
WEIGHTS = json.loads(weights.RECORD.read_text())


def test_the_table_of_linear_models_is_that_of_the_record():
    assert linear.page(FOUND).strip() in linear.README.read_text()
    assert list(FOUND["accuracy"]) == [*linear.READ, "always the commonest"]


def test_the_page_counts_its_pages():
    pages = FOUND["pages"]
    assert f"{pages['train']:,} training pages ({pages['train, cut']:,} of them cut to 256 tokens" in README
    small = [pages["test"][name] for name in ("65 to 128 tokens", "129 to 256 tokens", "257 to 512 tokens")]
    assert "({} of 65 to 128 tokens, {} of 129 to 256, {} longer)".format(*small) in README
    assert f"the {pages['validation']} validation pages" in README
    assert pages["validation"] + sum(pages["test"].values()) <= FOUND["scored pages"]
    assert plain.task.max_length == 256


def test_what_is_said_of_the_scores():
    """The orders, on validation pages and on long test pages, and the two numbers in the text."""
    table = json.loads((linear.HERE / "results.json").read_text())["tables"]["help modules"]
    validation = {label: mean for label, (mean, *_) in table["validation"].items()}
    long = {label: statistics.mean(seeds.values()) for label, seeds in table["seeds"].items()}
    by_section = "token types, pooling by section"
    for scores in (validation, long):
        assert scores["nope"] > scores["sinusoidal"]
        order = [scores[f"{name}, {by_section}"] for name in ("nope", "rope", "sinusoidal", "structured")]
        assert order == sorted(order, reverse=True)
    assert f"with NoPE ({validation[f'nope, {by_section}']:.3f} against {validation['nope']:.3f})" in README
    found = json.loads((linear.HERE / "results.json").read_text())
    differences = [row for row in found["differences"] if row["score"] == "accuracy" and row["range"] == "beyond"]
    assert differences
    assert all(row["low"] <= 0 <= row["high"] for row in differences)
    low, high = min(validation.values()), max(validation.values())
    docstring = " ".join((linear.HERE / "small.py").read_text().split())
    assert f"from {low:.2f} (structured) to {high:.2f} (NoPE)" in docstring


def test_what_is_said_of_attention_by_section():
    assert f"{weights.BEGIN}\n{weights.page(WEIGHTS)}\n{weights.END}" in weights.README.read_text()
    assert weights.FIGURE.read_bytes().startswith(b"\x89PNG")
    seeds = list(WEIGHTS["seeds"].values())
    rows = [
        [mean_interval([s[layer][part][i] for s in seeds]) for i in range(3)] for layer in (0, 1) for part in range(3)
    ]
    assert all(body.high < 1 < footer.low and header.low < 1 < header.high for header, body, footer in rows)
    said = "The body is below, the footer above, in every row; the header cannot be told from 1 in any."
    assert said in README
    assert f"{WEIGHTS['documents']} validation documents of up to {weights.LONGEST} tokens" in README
    assert f"{weights.config.training.steps} steps, {len(seeds)} seeds" in README
    accuracy = WEIGHTS["accuracy"].values()
    assert f"Accuracy {min(accuracy):.3f} to {max(accuracy):.3f} by seed" in " ".join(weights.__doc__.split())
