"""The page on checkpoints has the tables of the record, and the record is of what there is."""

import json

import huggingface_parity
import pytest
from huggingface_parity import FLOAT64, KINDS, MEASURES, NEW, RECORD, rounding
from make_huggingface_reference import CASES
from planted_bugs import BUGS

FOUND = json.loads(RECORD.read_text())


def test_the_tables_of_the_page_are_those_of_the_record():
    for path, text in huggingface_parity.pages().items():
        assert path.read_text() == text, "scripts/regenerate writes it"


def test_every_model_and_every_bug_is_in_the_record():
    rows = {part: list(FOUND[part]["rows"]) for part in ("import", "export", "bugs")}
    assert rows == {"import": list(CASES), "export": list(CASES), "bugs": list(BUGS)}
    assert {name: row["case"] for name, row in FOUND["bugs"]["rows"].items()} == {n: b.case for n, b in BUGS.items()}


@pytest.mark.parametrize("name", CASES)
def test_what_was_measured_is_what_the_tests_allow(name):
    row = dict(FOUND["import"]["rows"][name])
    assert row.pop("greedy", NEW) == NEW
    assert row.pop("transformers float32") == rounding(name)
    assert row.pop("long float32") < rounding(name)
    assert FOUND["export"]["rows"][name]["long float32"] < 2 * rounding(name)
    assert len(row) == 4 - (KINDS[name] == "encoder_only")
    for key, value in row.items():
        assert 0 <= value < FLOAT64, key


def test_every_bug_is_seen_by_the_check_that_is_for_it():
    for name, row in FOUND["bugs"]["rows"].items():
        assert row[BUGS[name].check] > 10 * rounding(row["case"]), name


def test_what_the_page_says_of_bugs():
    """A short prompt passes over some, and a full pass over others."""
    rows = FOUND["bugs"]["rows"]
    seen = {name: {key for key in MEASURES if row.get(key, 0) > FLOAT64} for name, row in rows.items()}
    assert not seen["window off by one"] & {"short", "padded"}
    assert seen["left padding not shifted"] == {"padded"}
    assert {name for name, keys in seen.items() if not keys & {"short", "long"}} == {
        "left padding not shifted",
        "positions off by one in decoding",
        "rows of the table off by one in decoding",
    }


def test_smollm2_has_the_perplexity_of_transformers_at_every_position():
    rows = FOUND["smollm2"]["rows"]["positions"]
    assert len(rows) == 8
    for row in rows:
        assert row["ours"] == pytest.approx(row["transformers"], rel=1e-3)
