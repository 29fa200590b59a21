"""JSON of others: its depth and its shape."""

import json

import pytest

from posenc_jax.files.shapes import MOST_LEVELS, loads, problem


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, 900, 100_000])
def test_deeper_than_anything_of_ours_is_refused(levels):
    for text in (nested(levels), '{"a":' * levels + "1" + "}" * levels):
        with pytest.raises(ValueError, match="nested deeper than 50 levels"):
            loads(text)


def test_what_is_allowed_is_read():
    for text in (nested(MOST_LEVELS), '{"a": [1, 2.5, null, "x"]}', "3"):
        assert loads(text) == json.loads(text)
    assert loads(r'{"é": "\ud83d\ude00"}') == {"é": "\N{GRINNING FACE}"}
    assert loads(str(2**63 - 1)) == 2**63 - 1
    with pytest.raises(ValueError, match="Expecting"):
        loads("{")


CELL = {"label": str, "at?": (int, str)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"[1, {2**63}]", "a whole number of more than 64 bits"),
        (f'{{"a": -{"9" * 400}}}', "a whole number of more than 64 bits"),
        (r'["\ud800"]', "a text with half a character"),
        (r'{"a": {"\udfff": 1}}', "a text with half a character"),
    ],
)
def test_numbers_and_texts_that_are_none(text, message):
    with pytest.raises(ValueError, match=message):
        loads(text)


SHAPE = {"seeds": [int], "rate": float, "note?": str, "metric": {str: str}, "cells?": [CELL]}
WHOLE = {"seeds": [0, 1], "rate": 1, "metric": {"a": "b"}, "cells": [{"label": "x", "more": []}], "note": None}


def test_a_value_of_the_shape():
    assert problem(WHOLE, SHAPE) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seeds": {}}, "seeds is an object, not a list"),
        ({"seeds": [0, "1"]}, "seeds[1] is a text, not a whole number"),
        ({"seeds": [0.5]}, "seeds[0] is a number, not a whole number"),
        ({"seeds": [True]}, "seeds[0] is a bool, not a whole number"),
        ({"metric": {"a": 1}}, "metric.a is a whole number, not a text"),
        ({"cells": [{}]}, "cells[0] lacks 'label'"),
        ({"cells": [{"label": "x", "at": 0.5}]}, "cells[0].at is a number, not a whole number or a text"),
    ],
)
def test_the_first_difference_is_named(change, message):
    assert problem(WHOLE | change, SHAPE) == message


def test_nothing_has_no_names():
    assert problem({}, SHAPE) == "it lacks 'seeds'"
    assert problem([], SHAPE) == "it is a list, not an object"


def test_unknown_names_where_they_are_refused():
    rows = {"row": [CELL]}
    assert problem({"row": [{"label": "a", "it": 1}]}, rows) == ""
    assert problem({"row": [{"label": "a", "it": 1}]}, rows, strict=True) == "row[0] has 'it', and may have label, at"
    assert problem({"row": [{"label": "a"}]}, rows, strict=True) == ""
