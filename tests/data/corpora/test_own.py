"""Corpora of the user's own texts: what is read, counted, split and refused; sources stay as they are."""

from __future__ import annotations

import json
import os

import pytest
from own_corpora import hashes, pairs, said, sentence, write_jsonl

from posenc_jax.cli import main
from posenc_jax.data.corpora import builders, reading
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.source import load_split
from posenc_jax.data.corpora.store import manifest
from posenc_jax.data.text import Classification, Data, LanguageModel, Summarization, Translation
from posenc_jax.data.text.loading import load
from posenc_jax.files.checksums import sha256_of_files

ADDS = {
    "plays": (["--text", "play.txt", "--licence", "public domain"], LanguageModel(max_length=32, row=32)),
    "chat": (
        ["--jsonl", "chat.jsonl", "--source", "q", "--target", "a", "--document", "page"],
        Translation(source="q", target="a", max_length=48),
    ),
    "short": (
        ["--jsonl", "chat.jsonl", "--source", "q", "--target", "a"],
        Summarization(source="q", target="a", max_length=48, max_summary=60),
    ),
    "reviews": (["--folder", "reviews"], Classification(labels=("bad", "good"))),
}


@pytest.mark.parametrize("name", ADDS)
def test_every_task_on_text_reads_what_was_added(here, capsys, printed, name):
    before = hashes(here)
    arguments, task = ADDS[name]
    assert main(["data", "add", name, *arguments]) == 0
    out, err = capsys.readouterr()
    assert f"posenc train --on own/{name}; compare encodings on it: posenc ablate --on own/{name}" in out
    assert f"own/{name} is prepared in" in err
    assert hashes(here) == before
    found = manifest(f"own/{name}")
    splits = {split: list(load_split(f"own/{name}", split)) for split in ("train", "validation", "test")}
    assert {split: len(rows) for split, rows in splits.items()} == {
        split: part["count"] for split, part in found["splits"].items()
    }
    documents = {split: {row["doc"] for row in rows} for split, rows in splits.items()}
    assert all(documents.values())
    assert not documents["train"] & (documents["validation"] | documents["test"])
    assert not documents["validation"] & documents["test"]
    assert found["sources"] == {arguments[1]: sha256_of_files(here / arguments[1])}
    assert found["licence"] == ("public domain" if name == "plays" else "not stated")
    data = Data(name=f"own/{name}", tokenizer="bytes")
    loaded = load(task.__class__(**{**vars(task), "data": data}))
    assert loaded.identity["train"]["examples"] > 0
    assert loaded.identity["sha256"] == found["sha256"]
    assert f"  own/{name} ({found['kind']}: {', '.join(found['columns'])})" in printed("data", "list")


def test_the_same_texts_give_the_same_corpus(here):
    arguments = ADDS["chat"][0]
    for name in ("one", "two"):
        assert main(["data", "add", name, *arguments]) == 0
    assert manifest("own/one")["sha256"] == manifest("own/two")["sha256"]


def test_every_line_that_is_left_out_is_named_in_a_file(here, capsys):
    rows = [*map(json.dumps, pairs(200)), *[f"{{broken {i}" for i in range(6)], "[]"]
    (here / "x.jsonl").write_text("\n".join(rows))
    arguments = ["data", "add", "x", "--jsonl", "x.jsonl", "--source", "q", "--target", "a"]
    assert main([*arguments, "--most-malformed", "0.1"]) == 0
    home = here / "data" / "own" / "x"
    assert f"x.jsonl:205 ({NO_KEY}) and 2 more; each is named in {home / 'left_out.jsonl'}" in said(capsys)
    named = [json.loads(line) for line in (home / "left_out.jsonl").read_text().splitlines()]
    assert named == [{"place": f"x.jsonl:{i}", "why": NO_KEY if i < 207 else "no JSON object"} for i in range(201, 208)]
    assert "left_out.jsonl" in manifest("own/x")["files"]
    assert len(load_split("own/x", "train")) > 100
    (home / "left_out.jsonl").write_text("")
    with pytest.raises(DataError, match=r"left_out\.jsonl is damaged"):
        manifest("own/x")


NO_KEY = "no JSON (Expecting property name enclosed in double quotes)"


def test_a_name_without_its_folder_is_explained(here):
    assert main(["data", "add", "plays", "--text", "play.txt"]) == 0
    with pytest.raises(DataError, match=r"there is no corpus 'plays', .*; did you mean 'own/plays'\?"):
        load_split("plays", "train")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--text", "none.txt"], "there is no file none.txt"),
        (["x", "--folder", "reviews/bad"], "has 0 folders of texts, and every class is one"),
        (["x", "--jsonl", "chat.jsonl"], "name the fields to read: --source F --target F for pairs"),
        (["x", "--text", "play.txt", "--field", "q"], "--field names a field, and --text has none: leave it out"),
        (["x", "--text", "play.txt", "--test", "play.txt"], "rows of one split have the text of another"),
        (["../x", "--text", "play.txt"], "'own/../x' is no name of a corpus of your own"),
        (["x", "--text", "play.txt", "--most-malformed", "2"], "--most-malformed 2.0 must be a share"),
        (["x"], "data add: give the texts as one of --text --jsonl"),
    ],
)
def test_what_is_refused_leaves_nothing(here, refusal, arguments, message):
    line = refusal("data", "add", *arguments)
    assert message in line
    assert not list((here / "data").rglob("*x*"))


LEADING_OUT = {
    "a file": lambda folder, private: (folder / "good" / "x.txt").symlink_to(private / "key.txt"),
    "a folder in it": lambda folder, private: (folder / "good" / "again").symlink_to(folder / "bad"),
    "a pipe": lambda folder, private: os.mkfifo(folder / "good" / "x.txt"),
}


@pytest.mark.parametrize("form", ["folder", "saved"])
@pytest.mark.parametrize("kind", LEADING_OUT)
def test_links_out_of_a_folder_and_pipes_are_not_followed(here, refusal, kind, form):
    folder = here / "reviews"
    (here / "private").mkdir()
    (here / "private" / "key.txt").write_text("my own secret\n")
    (folder / "state.json").write_text('{"_data_files": [{"filename": "x.arrow"}]}')
    LEADING_OUT[kind](folder, here / "private")
    field = ["--field", "text"] if form == "saved" else []
    line = refusal("data", "add", "x", f"--{form}", "reviews", *field)
    assert "is no regular file: take it out" in line if kind == "a pipe" else "which is not followed: put" in line
    assert not list((here / "data").rglob("*x*"))


def test_a_link_within_a_folder_is_read(here):
    (here / "reviews" / "good" / "again.txt").symlink_to(here / "reviews" / "bad" / "0.txt")
    found = {place.rpartition("/")[2]: record for place, record in reading.classes(here / "reviews")}
    assert found["again.txt:1"] == {"text": f"bad {sentence(0)}", "label": "good"}


def test_a_corpus_is_replaced_only_when_asked_and_never_half(here, capsys, monkeypatch):
    command = ["data", "add", "chat", *ADDS["chat"][0]]
    assert main(command) == 0
    before = manifest("own/chat")
    assert main(command) == 2
    assert "own/chat is there already: choose another name, or say --rebuild to replace it" in said(capsys)
    write_jsonl(here / "chat.jsonl", pairs(100))

    def full(rows, columns, directory):
        (directory / "corpus").mkdir(parents=True)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(builders, "write", full)
        assert main([*command, "--rebuild"]) == 2
    assert "No space left on device" in said(capsys)
    assert manifest("own/chat") == before
    assert main([*command, "--rebuild"]) == 0
    assert manifest("own/chat")["sha256"] != before["sha256"]
    assert not [path for path in (here / "data" / "own").iterdir() if path.name != "chat"]
    next((here / "data" / "own").rglob("*train.array_record*")).write_bytes(b"")
    with pytest.raises(DataError, match=r"is damaged .*: posenc data add chat \.\.\. --rebuild"):
        manifest("own/chat")


def test_names_that_lead_elsewhere_are_no_corpora(here):
    for name in ("own/../own/chat", "own/", "own/A", "own/a/b"):
        with pytest.raises(DataError, match="is no name of a corpus of your own"):
            manifest(name)
    with pytest.raises(DataError, match=r"own/none is not prepared in .*: posenc data add none"):
        manifest("own/none")
