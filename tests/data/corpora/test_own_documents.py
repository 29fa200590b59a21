"""Own corpora of documents whose structure does not nest."""

from __future__ import annotations

import dataclasses

import pytest
from own_corpora import sentence, write_jsonl

from posenc_jax.cli import main
from posenc_jax.data.checks import check_task
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.corpora.store import manifest
from posenc_jax.data.text import Classification, Data


@pytest.fixture
def notes(here):
    for kind in ("ops", "dev"):
        (here / "notes" / kind).mkdir(parents=True)
        for i in range(20):
            (here / "notes" / kind / f"{i}.md").write_text(f"# {kind}\n{sentence(i)}\n")
    (here / "notes" / "ops" / "skips.md").write_text("\n# Title\ntext\n\n### Deep\nmore\n")
    rows = [{"text": path.read_text(), "kind": path.parent.name} for path in sorted((here / "notes").rglob("*.md"))]
    write_jsonl(here / "notes.jsonl", rows)
    return here


SKIPS = "the heading 'Deep' of level 3 does not nest: the one before it is of level 1; go down one level at a time"
NOTES = {
    "folder": (["--folder", "notes"], "notes/ops/skips.md:5", SKIPS),
    "jsonl": (["--jsonl", "notes.jsonl", "--field", "text", "--label", "kind"], "notes.jsonl:41", SKIPS),
}


@pytest.mark.parametrize("form", NOTES)
def test_a_document_that_does_not_nest_is_malformed_where_its_structure_is_said(notes, capsys, refusal, form):
    arguments, place, why = NOTES[form]
    command = ["data", "add", "notes", *arguments, "--structure", "markdown"]
    within = "line 4 of its text: " * (form == "jsonl")
    assert f"{'lines' if form == 'folder' else 'records'} cannot be used ({place} ({within}{why}))" in refusal(*command)
    assert main([*command, "--most-malformed", "0.1"]) == 0
    out, err = capsys.readouterr()
    assert f"{'1 document of 5 lines' if form == 'folder' else '1 record'} is left out: {place} (" in err
    assert "posenc train --on own/notes" in out
    assert manifest("own/notes")["structure"] == "markdown"
    rows = [row["body"] for split in ("train", "validation", "test") for row in load_split("own/notes", split)]
    assert len(rows) == 40
    assert not any("Deep" in row for row in rows)


@pytest.mark.parametrize("form", NOTES)
def test_training_names_the_file_of_a_document_that_does_not_nest(notes, form):
    arguments, place, why = NOTES[form]
    assert main(["data", "add", "notes", *arguments]) == 0
    data = Data(name="own/notes", tokenizer="bytes")
    task = Classification(data=data, labels=("dev", "ops"), sections=("ops",), structure="markdown")
    within = "line 4 of its text: " * (form == "jsonl")
    bad = next(
        row
        for split in ("train", "validation", "test")
        for row in load_split("own/notes", split)
        if "Deep" in row["body"]
    )
    for read in (lambda: task.encode(None, [bad], training=True), lambda: task.tokenizer_lines(bad)):
        with pytest.raises(DataError) as error:
            read()
        assert str(error.value) == (
            f"own/notes, {place}: {within}{why}; or leave such documents out: posenc data add ... --structure markdown "
            "--rebuild"
        )


@pytest.mark.parametrize(
    ("said_as", "how"),
    [
        (["--structure", "markdown", "--most-malformed", "0.1"], "was added with --structure markdown"),
        ([], "is of files that are markdown by their names"),
    ],
)
def test_documents_of_another_structure_are_refused_before_training(notes, capsys, said_as, how):
    assert main(["data", "add", "notes", "--folder", "notes", *said_as]) == 0
    task = Classification(data=Data(name="own/notes", tokenizer="bytes"), labels=("dev", "ops"), structure="html")
    with pytest.raises(DataError) as error:
        check_task(task)
    assert str(error.value) == (
        f"data.name = 'own/notes' {how}, and task.structure = 'html': set task.structure to 'markdown', or add "
        "documents in html with --structure html"
    )
    for structure in ("markdown", "sections"):  # as plain text any may be read
        check_task(dataclasses.replace(task, structure=structure))


def test_structure_is_for_documents_with_classes(here, refusal):
    said = refusal("data", "add", "x", "--text", "play.txt", "--structure", "html")
    assert "--structure is for documents with classes: --folder" in said
