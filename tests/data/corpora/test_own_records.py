"""Records of own corpora: malformed lines, tables, splits."""

from __future__ import annotations

import gzip
import itertools
import json
import unicodedata

import pytest
from own_corpora import PAIR, pairs, read, records, sentence, why, write_jsonl

from posenc_jax.data.corpora import own, reading
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.fields import Fields, words_of
from posenc_jax.data.corpora.own import take
from posenc_jax.data.corpora.reading import Malformed
from posenc_jax.data.text import Data, Translation
from posenc_jax.data.text.loading import load


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
        "x.jsonl:15": "an object with the key 'q' more than once",
        "x.jsonl:16": "field 'a' is a number, not a text",
    }


def test_a_field_is_a_text_and_a_name_may_be_a_whole_number(tmp_path):
    fields = Fields(text="q", label="kind", document="page")
    good = {"q": "x", "kind": 3, "page": 7}
    wrong = [{"q": 3}, {"q": True}, {"q": ["x"]}, {"q": {"x": 1}}, {"page": 0.5}]
    path = write_jsonl(tmp_path / "x.jsonl", [good, *[good | one for one in wrong]])
    (_, first), *others = own.records("jsonl", [path], fields)[""]
    assert first == {"q": "x", "kind": "3", "page": "7"}
    assert [record.why for _, record in others] == [
        "field 'q' is a number, not a text",
        "field 'q' is true or false, not a text",
        "field 'q' is a list, not a text",
        "field 'q' is an object, not a text",
        "field 'page' is a number, not a text or a whole number",
    ]


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


SEPARATED = {
    "tabs by the name": ("x.TSV", 'q\ta, b\n"one\t1"\t2, 3; 4\n', {"q": "one\t1", "a, b": "2, 3; 4"}),
    "tabs": ("x.csv", "q\ta\none\t2, 3; 4\n", {"q": "one", "a": "2, 3; 4"}),
    "semicolons": ("x.csv", 'q;a\none, 1;"2, 3; 4"\n', {"q": "one, 1", "a": "2, 3; 4"}),
    "a comma in a name": ("x.csv", 'q;a, b\none, 1;"2; 3"\n', {"q": "one, 1", "a, b": "2; 3"}),
    "commas": ("x.txt", 'q,a;b\none\t1,"2, 3; 4"\n', {"q": "one\t1", "a;b": "2, 3; 4"}),
}


@pytest.mark.parametrize("separators", SEPARATED)
def test_the_separator_of_a_table_is_that_of_its_first_line(tmp_path, separators):
    name, text, record = SEPARATED[separators]
    (tmp_path / name).write_text(text)
    assert read(reading.table(tmp_path / name, list(record))) == [(f"{name}:2", record)]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_objects_is_read(tmp_path, indent):
    path = tmp_path / "x.json"
    rows = [{"q": "x" * 2**20, "a": "one"}, ["no object"], {"q": "two"}, {"q": "three", "a": "3"}]
    path.write_bytes(b"\xef\xbb\xbf\n " + json.dumps(rows, indent=indent).encode())
    found = read(reading.jsonl(path, ("q", "a")))
    assert found[0] == ("x.json:1", rows[0])
    assert found[1:] == [
        ("x.json:2", Malformed("no JSON object")),
        ("x.json:3", Malformed("no field 'a' (it has q)")),
        ("x.json:4", rows[3]),
    ]
    path.write_text('[{"q": "x",\n "a": "y", "q": "z"},\n {"q": "x", "a": "y"}]')
    assert read(reading.jsonl(path, ("q", "a"))) == [
        ("x.json:1", Malformed("an object with the key 'q' more than once")),
        ("x.json:2", {"q": "x", "a": "y"}),
    ]
    path.write_text('[{"q": "x"},\n {"q": "x"\n')
    assert why(reading.jsonl(path, ("q",))) == [("x.json:1", "no JSON (Expecting ',' delimiter in line 3)")]


def test_a_field_within_another_one_has_a_dotted_name(here, printed):
    rows = [{"translation": {"en": sentence(i), "de": sentence(i).upper()}, "x.y": "z"} for i in range(100)]
    path = write_jsonl(here / "x.jsonl", rows)
    printed("data", "add", "x", *["--jsonl", "x.jsonl", "--source", "translation.en", "--target", "translation.de"])
    task = Translation(source="translation.en", target="translation.de", data=Data("own/x", tokenizer="bytes"))
    assert load(task).test_rows[0]["translation.de"] in {row["translation"]["de"] for row in rows}
    assert read(reading.jsonl(path, ("x.y",)))[0] == ("x.jsonl:1", {"x.y": "z"})
    for name in ("translation.fr", "translation.en.x", "other.en"):
        assert why(reading.jsonl(path, (name,)))[0] == ("x.jsonl:1", f"no field {name!r} (it has translation, x.y)")
    assert why(reading.jsonl(path, ("translation",)))[0] == (
        "x.jsonl:1",
        "field 'translation' is an object, not a text",
    )


@pytest.mark.parametrize("order", ["gzip", "utf-16-le", "utf-16-be"])
def test_files_that_hold_no_lines_of_utf8_are_named(tmp_path, order):
    content = "".join(json.dumps(row) + "\n" for row in pairs(200))
    raw = gzip.compress(content.encode()) if order == "gzip" else ("\ufeff" + content).encode(order)
    reason = "packed by gzip: unpack it" if order == "gzip" else "in UTF-16: save it in UTF-8"
    path = tmp_path / "x"
    path.write_bytes(raw)
    for reader in (reading.jsonl(path, PAIR.read), reading.text(path)):
        assert read(reader) == [("x:1", Malformed(reason))]
    with pytest.raises(DataError, match=rf"x:1 names the fields, and cannot be used \({reason}\)"):
        list(reading.table(path, PAIR.read))


def test_files_that_were_joined(tmp_path):
    """Each with a byte order mark, a table with the names of its fields too."""
    table = "q,a\none,1\ntwo,2\n"
    lines = "".join(json.dumps(row) + "\n" for row in pairs(3))
    for name, text in (("x.csv", table), ("x.jsonl", lines)):
        (tmp_path / name).write_bytes(2 * text.encode("utf-8-sig"))
    assert read(reading.table(tmp_path / "x.csv", ("q", "a"))) == [
        ("x.csv:2", {"q": "one", "a": "1"}),
        ("x.csv:3", {"q": "two", "a": "2"}),
        ("x.csv:4", Malformed("the names of the fields once more")),
        ("x.csv:5", {"q": "one", "a": "1"}),
        ("x.csv:6", {"q": "two", "a": "2"}),
    ]
    assert not why(reading.jsonl(tmp_path / "x.jsonl", PAIR.read))


DAMAGED = {
    "first in its quotes": (b'"tak\xe9 it\nonly if\nyou may","x"', "x.csv:3", "not UTF-8 at byte 5 (line 3)"),
    "ends and begins a field": (b'"take it\nonly\xe9 if","\nyou may"', "x.csv:3", "not UTF-8 at byte 5 (line 4)"),
    "too long": (b'"take it\n' + b"x" * 2**21 + b'\nyou may","x"', "x.csv:3", "longer than 1,048,576 bytes (line 4)"),
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
        (b"q,\xe4\nq,a\n1,2\n", "x.csv:1 names the fields, and cannot be used (not UTF-8 at byte 3): mend it"),
        (b"q,a,q\n1,2,3\n", "x.csv has 2 fields 'q': rename all but one of them"),
        (b"", "x.csv has no field 'q': it has none"),
    ],
)
def test_a_table_whose_first_line_names_no_fields(here, refusal, table, message):
    (here / "x.csv").write_bytes(table)
    line = refusal("data", "add", "x", "--csv", "x.csv", "--source", "q", "--target", "a")
    assert message in line


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


TWINS = {
    "case": str.upper,
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "a joiner between a letter and its accent": lambda text: text.replace("é", "e\u200d\u0301"),
    "digits of full width": lambda text: text.translate({ord("0") + n: 0xFF10 + n for n in range(10)}),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "a ligature": lambda text: text.replace("fi", "ﬁ"),
}


@pytest.mark.parametrize("form", TWINS)
def test_a_text_in_another_form_is_the_same_text_and_stays_as_it_is(form):
    texts = [f"fichée {sentence(number)} ☂" for number in range(100)]
    twins = [TWINS[form](text) for text in texts]
    assert not set(twins) & set(texts)
    paged = Fields(text="text", document="page")  # one page each, so that they would be in any split
    rows = [{"text": text, "page": f"p{number}"} for number, text in enumerate([*texts, *twins])]
    taken = take({"": records(rows)}, paged)
    numbers = {text: number % 100 for number, text in enumerate([*texts, *twins])}  # as they were written
    found = {split: {numbers[row["text"]] for row in part} for split, part in taken.rows.items()}
    for one, other in itertools.combinations(found.values(), 2):
        assert not one & other
    assert len(found["train"] | found["test"] | found["validation"]) == 100
    with pytest.raises(DataError, match="1 rows of one split have the text of another one"):
        take({"train": records(rows[:100]), "test": records(rows[100:101])}, paged)
    alone = take({"": records([{"text": text} for text in (*texts, *twins)])}, Fields(text="text"))
    assert len({row["doc"] for part in alone.rows.values() for row in part}) == 100


@pytest.mark.parametrize("other", ["fichee", "fichè", "fich é", "fiché!"])
def test_other_texts_are_others(other):
    assert words_of(other) != words_of("fiché")


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
        (pairs(2), r"2 documents are too few for the splits train, test and validation, which take 3 at least, and "),
        (
            [{"q": "same", "a": str(i), "page": str(i)} for i in range(9)],
            r"1 document is too few for the splits train, ",
        ),
        ([Malformed("bad"), *pairs(50)], r"1 of 51 records cannot be used \(f:1 \(bad\)\), and 1.00% may be: mend"),
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
