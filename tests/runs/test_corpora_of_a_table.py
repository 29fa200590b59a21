"""Cells of one table read one state of a corpus, or are refused: their seeds are paired."""

from __future__ import annotations

import dataclasses

import pytest
import text_runs

from posenc_jax.runs import supply
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import write_json

FIRST = dataclasses.replace(text_runs.CONFIGS["translation"], table="t", label="first")
SECOND = dataclasses.replace(FIRST, label="second", posenc=())
NAME = FIRST.task.data.name


@pytest.fixture
def places(tmp_path):
    return {cell: tmp_path / cell.label for cell in (FIRST, SECOND)}


def begun(place, digest):
    place.mkdir()
    write_json(place / "data.json", {"name": NAME, "sha256": digest, "tokenizer": place.name, "train": {"examples": 1}})


def test_two_cells_that_read_other_text_are_refused(places):
    begun(places[FIRST], "1" * 8)
    begun(places[SECOND], "1" * 8)
    supply.refuse_other_corpora(places)  # their tokenizers may differ
    (places[SECOND] / "data.json").unlink()
    places[SECOND].rmdir()
    begun(places[SECOND], "2" * 8)
    with pytest.raises(RefusedError, match=r"second reads own/help-en-de at another state than .*first(.|\n)*sha256"):
        supply.refuse_other_corpora(places)
    elsewhere = dataclasses.replace(SECOND, table="another")
    supply.refuse_other_corpora({FIRST: places[FIRST], elsewhere: places[SECOND]})


def test_a_cell_that_is_still_to_run_is_asked_for_the_text_as_it_is_now(places, monkeypatch):
    begun(places[FIRST], "1" * 8)
    now = {"name": NAME, "sha256": "1" * 8}
    monkeypatch.setattr(supply, "identity_of", lambda name: now)
    supply.refuse_other_corpora(places, [SECOND])
    now["sha256"] = "2" * 8
    supply.refuse_other_corpora(places)
    with pytest.raises(RefusedError, match=r"t second, which is still to run, reads own/help-en-de at another state"):
        supply.refuse_other_corpora(places, [SECOND])


def test_a_run_is_not_measured_on_its_corpus_built_anew_unasked(places):
    place = places[FIRST]
    supply.refuse_rebuilt_corpus(place, {"name": NAME, "sha256": "2" * 8})  # nothing is known of what it read
    begun(place, "1" * 8)
    supply.refuse_rebuilt_corpus(place, {"name": NAME, "sha256": "1" * 8, "tokenizer": "another"})
    with pytest.raises(RefusedError, match=f"at another state of it(.|\n)*--data {NAME}(.|\n)*sha256"):
        supply.refuse_rebuilt_corpus(place, {"name": NAME, "sha256": "2" * 8})
