"""The page of the classifier has the tables of its records."""

import json

from experiments.classification import linear, weights


def test_the_table_of_linear_models_is_that_of_the_record():
    found = json.loads(linear.RECORD.read_text())
    assert linear.page(found).strip() in linear.README.read_text()
    assert list(found["accuracy"]) == [*linear.READ, "always the commonest"]


def test_the_table_of_attention_by_section_is_that_of_the_record():
    table = weights.page(json.loads(weights.RECORD.read_text()))
    assert f"{weights.BEGIN}\n{table}\n{weights.END}" in weights.README.read_text()
    assert weights.FIGURE.read_bytes().startswith(b"\x89PNG")
