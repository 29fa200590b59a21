"""The page of the classifier says what its records have."""

from __future__ import annotations

import json

import pytest

from experiments.classification.small import plain

pytest.importorskip("sklearn", reason="linear.py needs scikit-learn")

from experiments.classification import linear

FOUND = json.loads(linear.RECORD.read_text())
README = " ".join(linear.README.read_text().split())


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
