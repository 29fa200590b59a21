"""The audit as Markdown."""

import re

from posenc_jax.show.audit_table import audit_answer, audit_markdown, audit_text

WINDOWS = ("float32", "bfloat16", "float32 from 1000000")
SETTINGS = {"contract": "14 clauses", "model": "small", "attention": "short", "head_dim": 32}


def record(**changes):
    shifts = dict.fromkeys(("1000", "10000", "100000", "1000000"), 0.0)
    return {
        "family": "additive",
        "name": "One",
        "spec": "one",
        "verdict": "kept (14/14)",
        "head_dim": 32,
        "shift": {"float32": shifts, "bfloat16": shifts},
        "distance": None,
        "norm_drift": None,
        "alias": None,
        **dict.fromkeys(("causality", "cached_decoding", "packing", "padding", "precision"), 0.0),
        "beyond": "extrapolates",
        "parameters": {"learned": 1234, "frozen": 0},
        "temporaries": 2048,
        "clauses": {},
        "problems": [],
    } | changes


def tables(*records):
    """By family: the cells of each row by column."""
    text = audit_markdown({"settings": SETTINGS, "encodings": list(records)})
    found = {}
    for part in text.split("\n## ")[1:]:
        lines = [line for line in part.splitlines() if line.startswith("| ")]
        if lines:
            header, _, *rows = ([c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines)
            found[part.splitlines()[0]] = [dict(zip(header, row, strict=True)) for row in rows]
    return found, text


def test_families_keep_their_own_columns():
    rotary = record(
        family="rotary",
        name="Two",
        spec="a|two",
        head_dim=8,
        shift={
            "float32": {"1000": 1.234e-7, "10000": "nan", "100000": 5.0, "1000000": 2.0},
            "bfloat16": dict.fromkeys(("1000", "10000", "100000", "1000000"), 0.5),
        },
        distance=dict(zip(WINDOWS, (0.25, 0.25, 0.0))),
        norm_drift=dict.fromkeys(WINDOWS, 0.125),
        alias={"offset": 6, "cosine": 0.746},
        parameters={"learned": 10, "frozen": 2000},
        timing={"ratio": 1.5, "seconds": 1e-3},
    )
    found, text = tables(record(), rotary)
    assert list(found) == ["Additive", "Rotary"]
    ((first,), (second,)) = found.values()
    assert not {"smallest distance", "nearest alias", "norm drift", "time"} & first.keys()
    assert first["parameters"] == "1,234"
    assert first["shift, float32"] == "0"
    assert second["spec"] == r"`a\|two`"
    assert second["shift, float32"] == "1.2e-7, nan, 2"
    assert second["shift, bfloat16"] == "0.5"
    assert second["smallest distance"] == "0.25, 0.25, 0"
    assert second["nearest alias"] == "6 (0.75)"
    assert second["parameters"] == "10 + 2,000"
    assert second["memory"] == "+2 KiB"
    assert second["time"] == "1.50x"
    assert "What could not be measured" not in text
    assert "in the contract's dimensions, for which they are made: Two" in text


def test_what_failed_is_shown():
    wrong = record(
        causality=0.5, verdict="fails causality", temporaries=None, shift=None, beyond=None, problems=["shift: E: no"]
    )
    found, text = tables(record(), wrong)
    cells = found["Additive"][1]
    assert (cells["contract"], cells["leak"]) == ("fails causality", "0.5")
    assert cells["memory"] == cells["shift, float32"] == cells["beyond max_len"] == "-"
    assert "## What could not be measured\n\n- One: shift: E: no\n" in text


def test_a_clause_that_fails_is_told_with_what_was_seen_and_the_way_out():
    clauses = {
        "parameters": {"status": "failed", "detail": "(Mine.init's array ['s'], float64[4], is not float32)"},
        "vmap": {"status": "passed", "detail": ""},
    }
    document = {"settings": SETTINGS, "encodings": [record(verdict="fails parameters", clauses=clauses)]}
    told = "One: parameters: failed (Mine.init's array ['s'], float64[4], is not float32): make each array by jnp, as"
    assert f"## Failures, and what to do\n\n- {told}" in audit_markdown(document)
    assert told in audit_text(document, 1000)
    assert "vmap" not in audit_text(document, 1000)


def test_the_answer_is_a_line_and_what_failed():
    clauses = {
        "parameters": {"status": "failed", "detail": "(not float32)"},
        "vmap": {"status": "passed", "detail": ""},
    }
    wrong = record(name="Two", verdict="fails parameters", clauses=clauses)
    passed = {name: {"status": "passed", "detail": ""} for name in clauses}
    broken = record(verdict="kept (1/1), breaks parameters by nature", clauses=passed)
    first, second, _, title, _, told = audit_answer({"settings": SETTINGS, "encodings": [broken, wrong]}).splitlines()
    assert first == (
        "One passes 1 of 1 tests of caches, masks and more that apply, of 2 in all, breaks parameters by nature"
    )
    assert second == "Two and its contract: fails parameters"
    assert title == "Failures, and what to do"
    assert told.startswith("Two: parameters: failed (not float32): make each array")


def test_a_terminal_gets_columns_that_fit_and_the_legend_of_those():
    document = {"settings": SETTINGS, "encodings": [record(spec="one|two", timing={"ratio": 1.5, "seconds": 1e-3})]}
    for width in (40, 70, 200):
        text = audit_text(document, width)
        assert max(map(len, text.splitlines())) <= width
        assert "`" not in text
        assert "Measured in" in text
    wide, narrow = audit_text(document, 200), audit_text(document, 70)
    assert re.search(r"One +one\|two +kept \(14/14\)", wide)  # not as code, not escaped
    assert "shift, bfloat16: the same" in wide
    assert "Not shown" not in wide
    assert "\nshift, bfloat16: the same" not in narrow
    assert "Not shown at this width: shift, bfloat16" in narrow
    assert "(in the Markdown)." in narrow
