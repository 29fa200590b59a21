"""Corpora of the user's own texts: what is read, counted, split and refused; sources stay as they are."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib
import json
import random
import re
import shlex
import sys
import types
from pathlib import Path

import pytest

from posenc_jax.cli import main
from posenc_jax.data.checks import check_task
from posenc_jax.data.corpora import arrow, builders, own, reading
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.fields import Fields
from posenc_jax.data.corpora.own import nested, take
from posenc_jax.data.corpora.reading import Malformed
from posenc_jax.data.corpora.source import load_split, text_of
from posenc_jax.data.corpora.store import manifest
from posenc_jax.data.text import Classification, Data, LanguageModel, Summarization, Translation
from posenc_jax.data.text.loading import load

WORDS = tuple("abcdefghijklmnop")
PAIR = Fields(source="q", target="a")


def sentence(number, words=6):
    draw = random.Random(number)
    return " ".join([*(draw.choice(WORDS) for _ in range(words)), str(number)])


def pairs(count, start=0):
    return [{"q": sentence(i), "a": sentence(i).upper(), "page": f"p{i // 4}"} for i in range(start, start + count)]


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "play.txt").write_text("".join(f"{sentence(i, 12)}\n" for i in range(3000)))
    write_jsonl(tmp_path / "chat.jsonl", pairs(200))
    for kind in ("bad", "good"):
        (tmp_path / "reviews" / kind).mkdir(parents=True)
        for i in range(30):
            (tmp_path / "reviews" / kind / f"{i}.txt").write_text(f"{kind} {sentence(i)}\n")
    return tmp_path


def hashes(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "data" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read(reader):
    return [(place.rpartition("/")[2], record) for place, record in reader]


def why(reader):
    return [(place, record.why) for place, record in read(reader) if isinstance(record, Malformed)]


def said(capsys):
    return capsys.readouterr().err


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
def test_every_task_on_text_reads_what_was_added(here, capsys, name):
    before = hashes(here)
    arguments, task = ADDS[name]
    assert main(["data", "add", name, *arguments]) == 0
    out, err = capsys.readouterr()
    assert f"--data.name own/{name}" in out
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
    assert found["sources"] == {arguments[1]: own.sha256_of(here / arguments[1])}
    assert found["licence"] == ("public domain" if name == "plays" else "not stated")
    data = Data(name=f"own/{name}", tokenizer="bytes")
    loaded = load(task.__class__(**{**vars(task), "data": data}))
    assert loaded.identity["train"]["examples"] > 0
    assert loaded.identity["sha256"] == found["sha256"]
    assert main(["data", "list"]) == 0
    assert f"  own/{name} ({found['kind']}: {', '.join(found['columns'])})" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plays", "chat", "reviews"])
def test_and_trains_on_it(here, capsys, name):
    arguments, task = ADDS[name]
    assert main(["data", "add", name, *arguments]) == 0
    pooling = ", pooling='mean'" if name == "reviews" else ""
    fields = {field: value for field, value in vars(task).items() if field != "data"}
    (here / "a_config.py").write_text(
        "from posenc_jax import Evaluation, Run, Training, text\n"
        "from posenc_jax.models.config import Transformer\n"
        f"task = text.{type(task).__name__}(**{fields!r}, data=text.Data(name='own/{name}', tokenizer='bytes'))\n"
        f"config = Run(task=task, model=Transformer(d_model=8, num_layers=1, num_heads=1{pooling}), seeds=(0,),\n"
        "    training=Training(steps=2, batch_size=2, steps_per_call=2, log_every=2, validation_batches=1),\n"
        "    evaluation=Evaluation(lengths=(64,), num_examples=2))\n"
    )
    assert main(["train", "a_config.py", "--directory", "run"]) == 0
    assert json.loads((here / "run" / "data.json").read_text())["name"] == f"own/{name}"


def test_the_same_texts_give_the_same_corpus(here):
    arguments = ADDS["chat"][0]
    for name in ("one", "two"):
        assert main(["data", "add", name, *arguments]) == 0
    assert manifest("own/one")["sha256"] == manifest("own/two")["sha256"]


def test_malformed_lines_are_named(tmp_path):
    good = json.dumps(pairs(1)[0]).encode()
    lines = [good, b"{broken", b"", b'["list"]', b'{"q": "x"}', b'{"q": 1.5, "a": "y"}', b'{"q": " ", "a": "y"}']
    lines += [
        b"\xff" + good,
        good + b"\0",
        b"9" * (reading.LONGEST_LINE + 7),
        b'{"q": "\\ud800", "a": "y"}',
        b"[" * 9999,
        b'{"q": null, "a": "y"}',
        b'{"a": "y"}',
        b'{"q": "x", "a": "y", "q": "z"}',
        b'{"q": "x", "a": 3}',
    ]
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    whole = {place: record for place, record in read(reading.jsonl(path, PAIR.read)) if isinstance(record, dict)}
    assert {place: PAIR.lacking(record) for place, record in whole.items()} == {
        "x.jsonl:1": "",
        "x.jsonl:7": "field 'q' is empty",
    }
    found = dict(why(reading.jsonl(path, PAIR.read)))
    assert found.pop("x.jsonl:12").startswith("no JSON (")
    assert found == {
        "x.jsonl:2": "no JSON (Expecting property name enclosed in double quotes)",
        "x.jsonl:4": "no JSON object",
        "x.jsonl:5": "no field 'a' (it has q)",
        "x.jsonl:6": "field 'q' is a number, not a text",
        "x.jsonl:8": "not UTF-8 at byte 1",
        "x.jsonl:9": "a NUL byte",
        "x.jsonl:10": "longer than 1,048,576 bytes",
        "x.jsonl:11": "field 'q' has a NUL byte or half a character",
        "x.jsonl:13": "field 'q' is null",
        "x.jsonl:14": "no field 'q' (it has a)",
        "x.jsonl:15": "the key 'q' stands there more than once",
        "x.jsonl:16": "field 'a' is a number, not a text",
    }


def test_a_field_is_a_text_and_a_name_may_be_a_whole_number(tmp_path):
    import pyarrow
    import pyarrow.parquet

    fields = Fields(text="q", label="kind", document="page")
    good = {"q": "x", "kind": 3, "page": 7}
    texts = [{"q": 3}, {"q": 1.5}, {"q": float("nan")}, {"q": True}, {"q": ["x"]}, {"q": {"x": 1}}]
    names = [{"kind": 1.5}, {"kind": True}, {"page": 0.5}]
    rows = [good, *[good | wrong for wrong in (*texts, *names)]]
    path = write_jsonl(tmp_path / "x.jsonl", rows)
    (_, first), *others = own.records("jsonl", [path], fields)[""]
    assert first == {"q": "x", "kind": "3", "page": "7"}
    assert [record.why for _, record in others] == [
        *["field 'q' is a number, not a text"] * 3,
        "field 'q' is true or false, not a text",
        "field 'q' is a list, not a text",
        "field 'q' is an object, not a text",
        "field 'kind' is a number, not a text or a whole number",
        "field 'kind' is true or false, not a text or a whole number",
        "field 'page' is a number, not a text or a whole number",
    ]
    for number, row in enumerate((rows[0], rows[1], rows[2])):
        table = pyarrow.Table.from_pylist([row])
        pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
        home = tmp_path / f"saved{number}"
        home.mkdir()
        with pyarrow.ipc.new_stream(str(home / "data.arrow"), table.schema) as stream:
            stream.write_table(table)
        (home / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
        for form, place in (("parquet", tmp_path / "x.parquet"), ("saved", home)):
            ((_, found),) = own.records(form, [place], fields)[""]
            assert found == first if number == 0 else found == Malformed("field 'q' is a number, not a text")


def test_a_table(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'q,a,page\none,"1, or\nso",p\ntwo,2\n\nthree,\xff,p\nfour,4,p\n,5,p\n')
    assert [record for _, record in read(reading.table(path, ("q", "a"))) if isinstance(record, dict)] == [
        {"q": "one", "a": "1, or\nso"},
        {"q": "four", "a": "4"},
        {"q": "", "a": "5"},
    ]
    assert why(reading.table(path, ("q", "a"))) == [
        ("x.csv:4", "2 fields, and the first line names 3"),
        ("x.csv:6", "not UTF-8 at byte 7"),
    ]
    path.write_bytes(b'q,a\n1,2\n3,"4\n5,6\n7,8\n')  # a stray quote takes what follows
    assert [place for place, _ in why(reading.table(path, ("q", "a")))] == ["x.csv:3", "x.csv:4", "x.csv:5"]
    path.write_text("q,a,page\n")
    with pytest.raises(DataError, match=r"x.csv has no field 'z': it has q, a, page"):
        list(reading.table(path, ("z",)))


DAMAGED = {
    "first in its quotes": (b'"tak\xe9 it\nonly if\nyou may","x"', "x.csv:3", "not UTF-8 at byte 5 (line 3)"),
    "within": (b'"take it\nonly \xe9if\nyou may","x"', "x.csv:3", "not UTF-8 at byte 6 (line 4)"),
    "last": (b'"take it\nonly if\nyou may","\xe9"', "x.csv:3", "not UTF-8 at byte 11 (line 5)"),
    "ends and begins a field": (b'"take it\nonly\xe9 if","\nyou may"', "x.csv:3", "not UTF-8 at byte 5 (line 4)"),
    "with a NUL": (b'"take it\nonly if\0\nyou may","x"', "x.csv:3", "a NUL byte (line 4)"),
    "too long": (b'"take it\n' + b"x" * 2**21 + b'\nyou may","x"', "x.csv:3", "longer than 1,048,576 bytes (line 4)"),
    "alone": (b"take \xe9it,x", "x.csv:3", "not UTF-8 at byte 6"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_record_of_a_table_that_is_damaged_in_part_is_left_out_whole(here, tmp_path, damage):
    damaged, place, reason = DAMAGED[damage]
    lines = damaged.count(b"\n") + 1
    path = tmp_path / "x.csv"
    path.write_bytes(b"q,a\n1,2\n" + damaged + b'\n"3\n4",5\n')
    found = read(reading.table(path, ("q", "a")))
    assert found == [
        ("x.csv:2", {"q": "1", "a": "2"}),
        (place, Malformed(reason, lines)),
        (f"x.csv:{3 + lines}", {"q": "3\n4", "a": "5"}),
    ]


def test_what_is_left_of_a_damaged_quote_is_no_record(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b'q,a\n1,2\n\xa2take it\nyou may",x\n3,4\n"5 \xe9\n6')
    assert why(reading.table(path, ("q", "a"))) == [
        ("x.csv:3", "not UTF-8 at byte 1"),
        ("x.csv:4", "a quote without another one, after a damaged record"),
        ("x.csv:6", "not UTF-8 at byte 4"),
        ("x.csv:7", "no CSV (unexpected end of data)"),
    ]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b'"q"x,a\n1,2\n', "x.csv:1 names the fields, and is no CSV (',' expected after '\"'): mend it, or save"),
        (b"q,a\r1,2\r3,4\r", "x.csv:1 names the fields, and is no CSV (new-line character seen in unquoted field"),
        (b"q,\xe4\nq,a\n1,2\n", "x.csv:1 names the fields, and cannot be used (not UTF-8 at byte 3): mend it"),
        (
            b'q,"a\nb\xe4"\n1,2\n',
            "x.csv:1 names the fields, and cannot be used (not UTF-8 at byte 2 (line 2)): mend it",
        ),
        (b"q,a,q\n1,2,3\n", "x.csv has 2 fields 'q': rename all but one of them"),
        (b"", "x.csv has no field 'q': it has none"),
    ],
)
def test_a_table_whose_first_line_names_no_fields(here, capsys, table, message):
    (here / "x.csv").write_bytes(table)
    assert main(["data", "add", "x", "--csv", "x.csv", "--source", "q", "--target", "a"]) == 2
    (line,) = said(capsys).splitlines()
    assert message in line


def test_a_field_of_a_table_is_as_long_as_any(tmp_path):
    path = tmp_path / "x.csv"
    before = csv.field_size_limit()
    whole, half = "y" * (reading.LONGEST_LINE - 5), "z" * (reading.LONGEST_LINE // 2)
    path.write_text(f'q,other,a,other\n{whole},,2,\n"{half}\n{half}",,3,\n4,,5,\n')
    found = read(reading.table(path, ("q", "a")))
    assert found[0] == ("x.csv:2", {"q": whole, "a": "2"})
    assert found[-1] == ("x.csv:5", {"q": "4", "a": "5"})
    limit = Malformed("no CSV (field larger than field limit (1048576))")
    assert found[1:-1] == [("x.csv:3", limit), ("x.csv:4", limit)]
    assert csv.field_size_limit() == before


def test_a_long_text_is_cut_at_the_ends_of_lines(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("".join(f"{i:099d}\n" for i in range(1000)))
    found = read(reading.text(path))
    assert [place for place, _ in found] == [f"x.txt:{1 + 164 * i}" for i in range(7)]
    assert "\n".join(record["text"] for _, record in found) == path.read_text().rstrip("\n")
    damaged = "".join(f"{i:099d}\n" for i in range(400)).encode().replace(b"0256\n", b"02\xff6\n")
    path.write_bytes(damaged + b"\0")
    assert read(reading.text(path))[1:] == [
        ("x.txt:165", Malformed("not UTF-8 at byte 98 (line 257)", 165)),
        ("x.txt:330", Malformed("a NUL byte (line 401)", 72)),
    ]
    path.write_text("one")
    assert len(read(reading.text(path))) == 1
    path.write_text("\n \n")
    assert read(reading.text(path)) == []


def test_a_document_of_a_folder_that_is_damaged_in_part_is_left_out_whole(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "good.txt").write_text("good")
    (tmp_path / "a" / "bad.txt").write_bytes(b"take it only if\nthe doctor says you may \xe9 not\neat\n")
    assert [(place, record) for place, record in read(reading.classes(tmp_path)) if "bad" in place] == [
        ("bad.txt:1", Malformed("not UTF-8 at byte 25 (line 2)", 3))
    ]


def records(rows):
    return [(f"f:{i}", row) for i, row in enumerate(rows, 1)]


def test_splits_share_no_document_and_no_text():
    rows = pairs(200)
    rows += [{"q": f" {row['q'].title()} ", "a": "other", "page": "elsewhere"} for row in rows[:100]]  # the same words
    taken = take({"": records([*rows, rows[0]])}, Fields(source="q", target="a", document="page"))
    assert taken.repeated == 1
    assert taken.leaking > 0
    texts = {split: {" ".join(row["q"].lower().split()) for row in part} for split, part in taken.rows.items()}
    assert not texts["train"] & (texts["validation"] | texts["test"])
    assert not texts["validation"] & texts["test"]
    assert sum(map(len, taken.rows.values())) + taken.leaking == 300
    again = take({"": records(list(reversed(rows)))}, Fields(source="q", target="a", document="page"))
    for split in texts:
        assert {row["doc"] for row in again.rows[split]} == {row["doc"] for row in taken.rows[split]}


def test_given_splits_are_kept_unless_they_share_a_text():
    found = {"train": records(pairs(9)), "validation": records(pairs(3, 20)), "test": records(pairs(3, 30))}
    taken = take(found, PAIR)
    assert {split: len(rows) for split, rows in taken.rows.items()} == {"train": 9, "validation": 3, "test": 3}
    half = take({"train": records(pairs(90)), "test": records(pairs(3, 100))}, PAIR)
    assert [row["q"] for row in half.rows["test"]] == [row["q"] for row in pairs(3, 100)]
    assert half.rows["validation"]
    found["test"] = [("g:7", pairs(1)[0]), *found["test"]]
    with pytest.raises(DataError, match=r"1 rows of one split have the text of another one \(g:7 that of f:1\): leave"):
        take(found, PAIR)
    found = {"train": records(pairs(8)), "validation": records(pairs(3, 20)), "test": records(pairs(3, 7))[1:]}
    assert take(found, PAIR)
    with pytest.raises(DataError, match=r"have the document of another one"):
        take({**found, "test": records(pairs(3, 22))}, Fields(source="q", target="a", document="page"))
    assert take({"train": records(pairs(90)), "unsupervised": records(pairs(3))}, PAIR).unused == ("unsupervised",)


def test_given_splits_of_other_documents_are_refused_for_a_text_too():
    paged = Fields(source="q", target="a", document="page")
    found = {"train": records(pairs(8)), "validation": records(pairs(4, 20)), "test": records(pairs(4, 40))}
    assert take(found, paged)
    found["test"] = [*found["test"], ("g:7", {**pairs(1)[0], "page": "elsewhere"})]
    for given in (found, {split: found[split] for split in ("train", "test")}):
        with pytest.raises(DataError, match=r"1 rows of one split have the text of another one \(g:7 that of f:1\)"):
            take(given, paged)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there is no text to train on"),
        (pairs(2), r"2 documents are too few for the splits train, test and validation: give more text"),
        ([{"q": "same", "a": str(i), "page": str(i)} for i in range(9)], r"1 documents are too few"),
        (
            [Malformed("bad"), *pairs(50)],
            r"1 of 51 records cannot be used \(f:1 \(bad\)\), and 1.00% may be: mend them",
        ),
    ],
)
def test_what_makes_no_corpus(rows, message):
    with pytest.raises(DataError, match=message):
        take({"": records(rows)}, PAIR)


def test_of_plain_texts_the_lines_are_counted():
    document = {"text": "\n".join(f"line {i}" for i in range(40))}
    parts = [(f"f:{i}", {"text": f"{i}\n{document['text']}"}) for i in range(5)]
    fields = Fields(text="text")
    assert take({"": [("f:9", Malformed("bad")), *parts]}, fields, of_many_lines=True).malformed
    with pytest.raises(DataError, match="1 of 6 records cannot be used"):
        take({"": [("f:9", Malformed("bad")), *parts]}, fields)


def test_a_document_may_lack_sections_but_not_all_of_them():
    fields = Fields(sections=("head", "body"), label="kind")
    rows = [{"head": "", "body": f"body {i}", "kind": "abc"[i % 3]} for i in range(60)]
    empty = {"head": "h", "body": " ", "kind": "  "}, {"head": " ", "body": "", "kind": "a"}
    taken = take({"": records([*rows, *empty])}, fields, 0.1)
    assert sum(map(len, taken.rows.values())) == 60
    assert [why for _, why in taken.malformed] == ["field 'kind' is empty", "field 'head' is empty"]


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


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1], "1 document is left out: "),
        ([1, 1], "2 documents are left out: "),
        ([3], "1 document of 3 lines is left out: "),
        ([3, 4, 1, 1], "4 documents of together 9 lines are left out: "),
    ],
)
def test_documents_are_told_with_their_lines(here, bad, words):
    notes: list[str] = []
    found = {"": records([*[Malformed("bad", count) for count in bad], *({"text": f"text {i}"} for i in range(60))])}
    fields = Fields(text="text")
    taken = take(found, fields, 0.5, of_many_lines=True)
    own.add_own("x", taken, fields, {"licence": "", "sources": {}}, note=notes.append)
    assert next(note for note in notes if "left out" in note).startswith(words)
    assert manifest("own/x")["left_out"]["malformed"] == len(bad)


def test_rows_that_others_repeat_are_counted_once(here):
    notes: list[str] = []
    taken = take({"": records([*pairs(60), *pairs(1), *pairs(1)])}, PAIR)
    own.add_own("x", taken, PAIR, {"licence": "", "sources": {}}, note=notes.append)
    assert notes[0] == "2 rows are left out, which repeat another one"


def test_a_refusal_names_twenty_and_counts_the_reasons(here, capsys):
    bad = [Malformed(f"not UTF-8 at byte {i}") for i in range(20)] + [
        Malformed("no JSON (x)"),
        Malformed("no JSON (y)"),
    ]
    with pytest.raises(DataError) as error:
        take({"": records([*bad, *pairs(50)])}, PAIR)
    assert "f:20 (not UTF-8 at byte 19) and 2 more; by reason: 20 not UTF-8, 2 no JSON), and" in str(error.value)


def test_a_name_without_its_folder_is_explained(here):
    assert main(["data", "add", "plays", "--text", "play.txt"]) == 0
    with pytest.raises(DataError, match=r"there is no corpus 'plays', .*; did you mean 'own/plays'\?"):
        load_split("plays", "train")


def test_a_larger_share_can_be_stated():
    taken = take({"": records([Malformed("bad"), *pairs(50)])}, PAIR, 0.02)
    assert taken.malformed == (("f:1", "bad"),)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x", "--text", "none.txt"], "--text: there is no none.txt"),
        (["x", "--text", "reviews"], "--text: reviews is no file"),
        (["x", "--folder", "play.txt"], "--folder: play.txt is no folder"),
        (["x", "--folder", "reviews/bad"], "has 0 folders, and every class is one"),
        (["x", "--jsonl", "chat.jsonl"], "name the fields to read: --source F --target F for pairs"),
        (["x", "--jsonl", "chat.jsonl", "--source", "q"], "name the fields to read"),
        (["x", "--jsonl", "chat.jsonl", "--source", "q", "--target", "q"], "two of the fields have one name"),
        (
            ["x", "--jsonl", "chat.jsonl", "--source", "q", "--target", "z"],
            "chat.jsonl:1 (no field 'z' (it has q, a, page))",
        ),
        (["x", "--text", "play.txt", "--field", "q"], "--field names a field, and --text has none: leave it out"),
        (
            ["x", "--folder", "reviews", "--test", "play.txt"],
            "--test is for files, and --folder has splits or",
        ),
        (["x", "--text", "play.txt", "--test", "play.txt"], "rows of one split have the text of another"),
        (["../x", "--text", "play.txt"], "'own/../x' is no name of a corpus of your own"),
        (["x", "--text", "play.txt", "--most-malformed", "2"], "--most-malformed 2.0 must be a share"),
        (["x", "--builder", "none.py:B", "--field", "text"], "there is no file none.py"),
        (["x", "--builder", "nowhere.at_all:B", "--field", "text"], "nowhere.at_all cannot be imported"),
        (["x", "--builder", "json:JSONDecoder", "--field", "text"], "JSONDecoder is no builder"),
        (["x", "--saved", "reviews", "--field", "text"], "reviews has no state.json"),
        (["x"], "one of the arguments --text --jsonl --csv --parquet --folder --saved --builder is required"),
    ],
)
def test_what_is_refused_leaves_nothing(here, capsys, arguments, message):
    assert main(["data", "add", *arguments]) == 2
    (line,) = said(capsys).splitlines()
    assert message in line
    assert not list((here / "data").rglob("*x*"))


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


def test_a_parquet_file_and_a_saved_data_set(here, capsys):
    import pyarrow
    import pyarrow.parquet

    rows = [*pairs(60), {"q": None, "a": "x", "page": "p"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), here / "x.parquet")
    assert why(arrow.parquet(here / "x.parquet", PAIR.read)) == [("x.parquet:61", "field 'q' is null")]
    arguments = ["--source", "q", "--target", "a", "--most-malformed", "0.05"]
    assert main(["data", "add", "table", "--parquet", "x.parquet", *arguments]) == 0
    assert "1 record is left out: x.parquet:61" in said(capsys)
    with pytest.raises(DataError, match=r"x.parquet has no field 'z': it has q, a, page"):
        list(arrow.parquet(here / "x.parquet", ("z",)))
    (here / "y.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match=r"y.parquet is no Parquet file that can be read"):
        list(arrow.parquet(here / "y.parquet", ("z",)))

    saved = here / "saved"
    for split, start in (("train", 0), ("test", 100)):
        (saved / split).mkdir(parents=True)
        part = pyarrow.Table.from_pylist([{"text": row["q"], "label": i % 2} for i, row in enumerate(pairs(50, start))])
        with pyarrow.ipc.new_stream(str(saved / split / "data-00000-of-00001.arrow"), part.schema) as stream:
            stream.write_table(part)
        (saved / split / "state.json").write_text(
            json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]})
        )
        features = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}, "text": {"dtype": "string"}}
        (saved / split / "dataset_info.json").write_text(json.dumps({"features": features}))
    (saved / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    assert main(["data", "add", "both", "--saved", "saved", "--field", "text", "--label", "label"]) == 0
    assert "--task.labels neg pos" in capsys.readouterr().out
    assert len(load_split("own/both", "test")) == 50
    assert manifest("own/both")["labels"] == ["neg", "pos"]
    assert main(["data", "add", "one", "--saved", "saved/train", "--field", "text"]) == 0
    for damage in ("[]", "{", '{"splits": 3}', '{"splits": ["../train"]}'):
        (saved / "dataset_dict.json").write_text(damage)
        assert main(["data", "add", "damaged", "--saved", "saved", "--field", "text"]) == 2
        assert "dataset_dict.json" in said(capsys)


BUILDER = """
import tensorflow_datasets as tfds


class Mine(tfds.core.GeneratorBasedBuilder):
    VERSION = tfds.core.Version("1.0.0")

    def _info(self):
        features = {"body": tfds.features.Text(), "kind": tfds.features.ClassLabel(names=["no", "yes"])}
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples(90), "test": self._generate_examples(9)}

    def _generate_examples(self, count):
        for i in range(count):
            yield i, {"body": f"text {i} of {count}", "kind": "yes" if i % 2 else "no"}
"""


def test_a_builder_by_its_import_path(here, capsys):
    (here / "my_builder_here.py").write_text(BUILDER)
    arguments = ["--builder", "my_builder_here.py:Mine", "--field", "body"]
    assert main(["data", "add", "built", *arguments, "--label", "kind"]) == 0
    assert "--task.labels no yes" in capsys.readouterr().out
    assert {row["body"] for row in load_split("own/built", "test")} == {f"text {i} of 9" for i in range(9)}
    assert main(["data", "add", "again", *arguments[:-1], "text"]) == 2
    assert "Mine has no text or class 'text': it has body, kind" in said(capsys)


def test_rows_of_a_builder_pass_what_those_of_files_pass(here, capsys):
    bad = f'[f"text {{i}} of {{count}}", "a\\0b", "x" * {reading.LONGEST_LINE + 1}, b"gr\\xf6", " "][max(0, i - 85)]'
    (here / "my_bad.py").write_text(BUILDER.replace("Mine", "Bad").replace('f"text {i} of {count}"', bad))
    arguments = ["--builder", "my_bad.py:Bad", "--field", "body"]
    assert main(["data", "add", "built", *arguments]) == 2
    assert "4 of 99 records cannot be used (" in said(capsys)
    assert main(["data", "add", "built", *arguments, "--most-malformed", "0.1"]) == 0
    listed = said(capsys).partition("4 records are left out: ")[2].splitlines()[0]
    assert sorted(re.findall(r"Bad:train:\d+ \((.*?)\)", listed)) == [
        "field 'body' has a NUL byte or half a character",
        "field 'body' is empty",
        "field 'body' is longer than 1,048,576 characters",
        "field 'body' is not UTF-8 at byte 3",
    ]


@pytest.mark.parametrize(("name", "ends"), [("Exits", "SystemExit(3)"), ("Fails", "RuntimeError('boom\\nmore')")])
def test_a_builder_that_ends_is_named_in_a_line(here, capsys, name, ends):
    builder = BUILDER.replace("for i in", f"raise {ends}\n        for i in").replace("Mine", name)
    (here / f"my_{name}.py").write_text(builder)
    assert main(["data", "add", "built", "--builder", f"my_{name}.py:{name}", "--field", "body"]) == 2
    (line,) = said(capsys).splitlines()
    assert f"{name} cannot be prepared ({ends[:10]}" in line


def test_of_several_configs_one_is_named(here, capsys):
    configs = '    BUILDER_CONFIGS = [tfds.core.BuilderConfig(name=name) for name in ("aa", "bb")]\n'
    builder = BUILDER.replace("    VERSION", f"{configs}    VERSION").replace("Mine", "Two")
    (here / "my_two.py").write_text(builder.replace('f"text', 'f"{self.builder_config.name}'))
    for wrong, message in {
        "": "Two has the configs aa, bb: name one of them, as in Class/aa",
        "/": "with configs Class/CONFIG",
        "/cc": "Two has no config 'cc': use one of aa, bb",
    }.items():
        assert main(["data", "add", "two", "--builder", f"my_two.py:Two{wrong}", "--field", "body"]) == 2
        (line,) = said(capsys).splitlines()
        assert message in line
    assert main(["data", "add", "two", "--builder", "my_two.py:Two/bb", "--field", "body"]) == 0
    assert all(row["text"].startswith("bb ") for row in load_split("own/two", "train"))
    (here / "my_none.py").write_text(BUILDER.replace("Mine", "Plain"))
    assert main(["data", "add", "none", "--builder", "my_none.py:Plain/x", "--field", "body"]) == 2
    assert "Plain has no config 'x': leave out /x" in said(capsys)


def test_a_builder_that_is_imported_when_it_is_used(here, capsys, monkeypatch):
    from tensorflow_datasets.core.lazy_builder_import import LazyBuilderImport

    (here / "my_lazy.py").write_text(BUILDER.replace("Mine", "MineLazily"))
    monkeypatch.syspath_prepend(here)
    importlib.import_module("my_lazy")
    names = types.ModuleType("lazy_names")
    names.Known, names.Unknown = LazyBuilderImport("mine_lazily"), LazyBuilderImport("mine_nowhere")
    monkeypatch.setitem(sys.modules, "lazy_names", names)
    arguments = ["--field", "body", "--builder"]
    assert main(["data", "add", "lazy", *arguments, "lazy_names:Known"]) == 0
    assert "WARNING" not in said(capsys)
    assert main(["data", "add", "none", *arguments, "lazy_names:Unknown"]) == 2
    (line,) = said(capsys).splitlines()
    assert "posenc: lazy_names:Unknown cannot be imported (DatasetNotFoundError: " in line


def test_an_example_without_a_class_is_not_given_one(here, capsys):
    source = BUILDER.replace("Mine", "Unlabelled").replace('"yes" if i % 2', '-1 if i % 30 == 9 else "yes" if i % 2')
    source = source.replace('{"train"', '{"unsupervised": self._generate_examples(60), "train"').replace("(9)", "(19)")
    (here / "my_unlabelled.py").write_text(source)
    arguments = ["--builder", "my_unlabelled.py:Unlabelled", "--field", "body", "--label", "kind"]
    assert main(["data", "add", "some", *arguments]) == 2
    assert "4 of 109 records cannot be used (" in said(capsys)
    assert main(["data", "add", "some", *arguments, "--most-malformed", "0.1"]) == 0
    assert "(field 'kind' is unlabelled (-1))" in said(capsys)
    rows = [row for split in ("train", "test", "validation") for row in load_split("own/some", split)]
    assert {row["body"] for row in rows}.isdisjoint({"text 9 of 90", "text 39 of 90", "text 69 of 90", "text 9 of 19"})
    import tensorflow_datasets as tfds

    with pytest.raises(DataError, match=r"an example is unlabelled \(-1\)"):
        text_of(tfds.features.ClassLabel(names=["no", "yes"]))(-1)
    assert arrow._labelled({"k": -1}, ("k",), {"k": ["no", "yes"]}, ()) == Malformed("field 'k' is unlabelled (-1)")


def test_a_builder_with_a_key_twice_is_named_with_the_key(here, capsys):
    (here / "my_twice.py").write_text(BUILDER.replace("Mine", "Twice").replace("yield i,", "yield i % 80,"))
    assert main(["data", "add", "twice", "--builder", "my_twice.py:Twice", "--field", "body"]) == 2
    (line,) = said(capsys).splitlines()
    assert line.startswith("posenc: Twice yields the key 0 of the split train twice: give every example a key of its")


def test_the_command_that_is_printed_is_one_for_a_shell(here, capsys):
    rows = [{"the head": sentence(i), "body": "x", "kind": ("sci fi", "poetry", "it's")[i % 3]} for i in range(90)]
    write_jsonl(here / "books.jsonl", rows)
    arguments = ["--jsonl", "books.jsonl", "--field", "the head", "body", "--label", "kind"]
    assert main(["data", "add", "books", *arguments]) == 0
    command = shlex.split(capsys.readouterr().out.partition(": ")[2])
    assert command[:2] == ["--data.name", "own/books"]
    assert command[2:] == ["--task.labels", "it's", "poetry", "sci fi", "--task.sections", "the head", "body"]


def test_the_builder_of_the_page_works_as_it_is_printed(here):
    page = (Path(__file__).parents[3] / "scripts" / "docs" / "own-text.md").read_text()
    (here / "proverbs.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    (here / "proverbs.tsv").write_text("".join(f"{'de' if i % 2 else 'en'}\tproverb {i}\n" for i in range(40)))
    (command,) = [line.split() for line in page.splitlines() if "proverbs.py:Proverbs" in line]
    assert command[0] == "posenc"
    assert main(command[1:]) == 0
    assert manifest("own/proverbs")["labels"] == ["de", "en"]


def test_a_field_is_asked_for_in_words():
    with pytest.raises(DataError, match="a side of a pair cannot be called 'doc'"):
        Fields(source="doc", target="a")
    with pytest.raises(DataError, match="name the fields"):
        Fields(source="q", target="a", text="t")


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
def test_a_document_that_does_not_nest_is_malformed_where_its_structure_is_said(notes, capsys, form):
    arguments, place, why = NOTES[form]
    command = ["data", "add", "notes", *arguments, "--structure", "markdown"]
    within = "line 4 of its text: " * (form == "jsonl")
    assert main(command) == 2
    assert f"{'lines' if form == 'folder' else 'records'} cannot be used ({place} ({within}{why}))" in said(capsys)
    assert main([*command, "--most-malformed", "0.1"]) == 0
    out, err = capsys.readouterr()
    assert f"{'1 document of 5 lines' if form == 'folder' else '1 record'} is left out: {place} (" in err
    assert "--task.structure markdown" in out
    assert manifest("own/notes")["structure"] == "markdown"
    rows = [row["body"] for split in ("train", "validation", "test") for row in load_split("own/notes", split)]
    assert len(rows) == 40
    assert not any("Deep" in row for row in rows)


@pytest.mark.parametrize("form", NOTES)
def test_training_names_the_file_of_a_document_that_does_not_nest(notes, capsys, form):
    arguments, place, why = NOTES[form]
    assert main(["data", "add", "notes", *arguments]) == 0
    noted = f"1 documents do not nest: {place} ({why}); --task.structure markdown refuses them: mend them, or leave"
    assert (noted in said(capsys)) == (form == "folder")
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


def test_of_a_corpus_without_origins_the_document_is_named(notes, capsys):
    assert main(["data", "add", "notes", "--folder", "notes"]) == 0
    task = Classification(data=Data(name="own/notes"), labels=("dev", "ops"), structure="markdown")
    with pytest.raises(DataError, match=r"^own/notes, document d7, line 2: the heading 'B' of level 4 does not nest"):
        task.tokenizer_lines({"body": "# A\n#### B", "doc": "d7", "label": "ops"})


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


def test_structure_is_for_documents_with_classes(here, capsys):
    assert main(["data", "add", "x", "--text", "play.txt", "--structure", "html"]) == 2
    assert "--structure html is for documents with classes: give them as --folder" in said(capsys)


def test_lines_of_a_folder_are_counted_from_the_file(tmp_path):
    for kind in ("a", "b"):
        (tmp_path / kind).mkdir()
    (tmp_path / "a" / "x.md").write_bytes(b"\n\n# A\n\n### B\n")
    found = nested({"": reading.classes(tmp_path)}, "text", "markdown", of_many_lines=True)[""]
    assert why(found)[-1][0] == "x.md:5"
