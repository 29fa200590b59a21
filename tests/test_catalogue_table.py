"""The page's table of encodings says what the code and the committed audit say; what scripts/regenerate writes."""

import json
import tomllib
from pathlib import Path

import pytest
import regenerate as script
from documenting import verdicts
from documenting.encodings import FAMILIES
from registry_slots import REGENERATE

from posenc_jax.analysis.audit import rows
from posenc_jax.encodings import ALiBi

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def committed():
    audit = json.loads((ROOT / "scripts" / "catalogue_audit.json").read_text())
    records = {(record["name"], record["spec"]): record for record in audit["encodings"]}
    assert list(records) == [(m.name, m.spec) for _, m in rows()], REGENERATE
    return records


def test_years_are_those_of_the_numbers_of_arxiv():
    """By which `posenc list --since` chooses; journals and conferences come later."""
    for _, method in rows():
        if method.link.startswith("arXiv:"):
            assert f"20{method.link[6:8]}" in method.paper, method.name


def test_what_pages_say_of_use_is_what_the_rows_say():
    facts = tomllib.loads((ROOT / "scripts" / "docs" / "encodings" / "facts.toml").read_text())
    research = {name for name, own in facts.items() if own["use"].startswith("Research")}
    assert not research & {method.name for _, method in rows() if method.use == "W"}


def test_the_audit_is_of_these_encodings(committed):
    """Whoever changes a hook or a parameter makes the audit anew."""
    for (name, spec), record in committed.items():
        assert record["verdict"] == "nothing to keep" or record["verdict"].startswith("kept (")
        assert record["problems"] == []
        assert not script.is_stale(record, spec), f"{name}: {REGENERATE}"


def test_the_script_writes_what_is_there():
    for path, text in verdicts.texts().items():
        assert path.read_text() == text, f"{path.name}: {REGENERATE}"
    audit, page = json.loads(script.AUDIT.read_text()), script.PAGE
    evidence = verdicts.evidence()
    found = script.table(audit, evidence)
    assert script.refilled(page.read_text(), script.BEGIN, found, script.END) == page.read_text(), REGENERATE
    assert {own.label for own in evidence} <= {method.name for _, method in rows()}, "a label is a row's name"
    with pytest.raises(ValueError, match=r"the page lacks the marks for it: write the two lines <!-- The catalogue"):
        script.refilled("no place", script.BEGIN, "table", script.END)


def test_the_page_begins_with_what_is_there_by_family():
    headings = [line for line in script.PAGE.read_text().splitlines() if line.startswith("#")]
    assert headings[1] == "## All methods"
    assert headings[2 : 2 + len(FAMILIES)] == [f"### {title}" for title, _ in FAMILIES.values()]
    assert headings[-1] == "## What is left out"


def row(name, values=(1.0, None), seen=None, **facts):
    return {
        "name": name,
        "spec": name,
        "parameters": {},
        "positions_seen": seen,
        "outputs": {"q": [list(values)]},
    } | facts


def test_a_golden_value_that_is_there_stays_as_it_is():
    old, new = row("a", (1.0, None), paper="old"), row("a", (1.0 + 1e-12, None), paper="new")
    assert script.merged([old], [row("b"), new], []) == ([row("b"), row("a", (1.0, None), paper="new")], [])


@pytest.mark.parametrize(
    ("new", "what"),
    [
        (row("a", (1.0 + 1e-8, None)), "q"),
        (row("a", (None, 1.0)), "q"),
        (row("a", (1.0,)), "q"),
        (row("a", outputs={"q": [[1.0, None]], "k": [[1.0]]}), "k"),
        (row("a", outputs={}), "q"),
        (row("a", parameters={"0.a.table": [1]}), "parameters"),
        (row("a", seen=[[0], [1]]), "positions of element 0, positions of element 1"),
    ],
)
def test_a_changed_golden_value_is_a_changed_encoding(new, what):
    assert script.merged([row("a")], [new], ["b"])[1] == [f"a: {what} changed"]
    assert script.merged([row("a")], [new], ["a"]) == ([new], [])


def test_a_row_goes_only_where_it_is_meant_to():
    assert script.merged([row("a"), row("b")], [row("b")], []) == ([row("b")], ["a: a is gone"])
    assert script.merged([row("a"), row("b")], [row("b")], ["a"]) == ([row("b")], [])


def test_nothing_is_written_for_a_changed_value_or_an_unknown_name(monkeypatch, capsys):
    files = {path: path.read_bytes() for path in (script.GOLDEN, script.AUDIT, script.PAGE)}
    kept = json.loads(files[script.GOLDEN])
    changed = json.loads(files[script.GOLDEN])
    changed["rows"][2]["outputs"]["rows"][0][0] += 0.5
    monkeypatch.setattr("golden.document", lambda: changed)
    assert script.main([]) == 1
    name = kept["rows"][2]["name"]
    message = capsys.readouterr().err
    assert f"{name}: rows changed\na changed golden value is a changed encoding: if it is meant, --changed" in message
    assert script.main(["--changed", "Sinusoidl"]) == 1
    message = capsys.readouterr().err
    assert "--changed 'Sinusoidl' is no row of the catalogue, no golden sequence and no released model" in message
    assert ": did you mean 'Sinusoidal'?" in message
    assert {path: path.read_bytes() for path in files} == files


@pytest.mark.parametrize(
    ("paper", "citation", "problem"),
    [
        ("", "", "ALiBi.paper = '' is no source: write arXiv:... or https://..."),
        ("arXiv:2601.00001", "", "ALiBi.citation = '' must name arXiv:2601.00001 once"),
    ],
)
def test_an_encoding_without_a_source_is_refused_first(monkeypatch, capsys, paper, citation, problem):
    monkeypatch.setattr(ALiBi, "paper", paper)
    monkeypatch.setattr(ALiBi, "citation", citation)
    monkeypatch.setattr("golden.document", None)
    assert script.main([]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"scripts/regenerate: {problem}"
    assert said[1] == "encodings/alibi: no citation of arXiv:2108.12409: write one in its class, or in facts.toml"
    assert said[2:] == ["nothing was written"]
