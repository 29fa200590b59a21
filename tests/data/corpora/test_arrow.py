"""Parquet files and saved data sets: what is damaged in them."""

import json
import os
from functools import partial

import pyarrow
import pyarrow.parquet
import pytest

from posenc_jax.data.corpora import arrow
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.reading import Malformed

TYPES = {"string": pyarrow.string(), "large": pyarrow.large_string()}


@pytest.fixture
def parquet(tmp_path):
    def write(columns, **options):
        path = tmp_path / "x.parquet"
        pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)
        return path

    return write


@pytest.fixture
def saved(tmp_path):
    def write(columns, **options):
        table = pyarrow.table(columns)
        with pyarrow.ipc.new_stream(str(tmp_path / "data.arrow"), table.schema, **options) as stream:
            stream.write_table(table)
        (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
        return tmp_path

    return write


def read(path, *fields):
    found = arrow.saved(path, fields)[""] if path.is_dir() else arrow.parquet(path, fields)
    return [record for _, record in found]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(("form", "plain"), [("parquet", True), ("saved", True), ("saved", False)])
def test_a_row_that_is_not_utf8_is_left_out(request, form, plain, kind):
    sizes = pyarrow.int64() if kind == "large" else pyarrow.int32()
    offsets = pyarrow.array([0, 3, 5, 8], sizes)
    texts = pyarrow.Array.from_buffers(TYPES[kind], 3, [None, offsets.buffers()[1], pyarrow.py_buffer(b"oneb\xe9two")])
    texts = texts if plain else pyarrow.DictionaryArray.from_arrays([0, 1, 2], texts)
    path = request.getfixturevalue(form)({"text": texts, "other": ["x", "y", "z"]})
    assert read(path, "text", "other") == [
        {"text": "one", "other": "x"},
        Malformed("field 'text' is not UTF-8 at byte 2"),
        {"text": "two", "other": "z"},
    ]


def test_a_parquet_file_that_says_that_it_unpacks_to_too_much_is_refused(parquet, monkeypatch):
    path = parquet({"text": ["z" * 2**20]}, compression="zstd", use_dictionary=False)
    monkeypatch.setattr(arrow, "MOST_BYTES", 2**20)
    monkeypatch.setattr(arrow, "MOST_TIMES", 2)
    with pytest.raises(DataError, match=r"x.parquet of [\d,]+ bytes unpacks to 1,048,\d+, and 1,048,576 is the bound"):
        read(path, "text")
    monkeypatch.setattr(arrow, "MOST_BYTES", 2**21)
    assert read(path, "text") == [{"text": "z" * 2**20}]


@pytest.mark.parametrize("form", ["parquet", "saved"])
def test_columns_of_other_types_hold_no_texts(request, form):
    path = request.getfixturevalue(form)({"a": [["x"] * 3], "b": [{"x": "y"}], "c": [b"x"], "text": ["x"]})
    for field, kind in (("a", "a list"), ("b", "an object"), ("c", "of type bytes")):
        assert read(path, "text", field) == [Malformed(f"field {field!r} is {kind}, not a text")]
    assert read(path, "text") == [{"text": "x"}]


NAMES = {"bad\n\x1b[2J": ["x"], "long" * 99: ["x"], **{f"c{i}": ["x"] for i in range(40)}}


def flipped(request):
    """A byte of the name of a column is none of UTF-8's."""
    path = request.getfixturevalue("parquet")({"text": ["x"]}, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"text", b"t\xe5xt"))
    return path


def cut(request):
    path = request.getfixturevalue("parquet")({"text": ["x"]})
    path.write_bytes(path.read_bytes()[:-9])
    return path


def out_of_order(request):
    """A text that ends before it begins, of which pyarrow would read beyond the buffer."""
    offsets = pyarrow.py_buffer(pyarrow.array([0, 3, 1, 4], pyarrow.int32()).buffers()[1])
    texts = pyarrow.Array.from_buffers(pyarrow.string(), 3, [None, offsets, pyarrow.py_buffer(b"ab\xffd")])
    return request.getfixturevalue("saved")({"text": texts})


def beside(request, name, change):
    """A saved data set after ``change`` of one of its files."""
    folder = request.getfixturevalue("saved")({"text": ["x"]})
    change(folder / name)
    return folder


def linked(path):
    path.rename(path.parent.parent / f"{path.parent.name}-outside")
    path.symlink_to(path.parent.parent / f"{path.parent.name}-outside")


def piped(path):
    path.unlink()
    os.mkfifo(path)


def said(content):
    return lambda path: path.write_text(content)


DAMAGE = {
    "a name that is not UTF-8": (flipped, r"x.parquet cannot be read \('utf-8' codec can't decode"),
    "no end": (cut, r"x.parquet cannot be read \(.*: save it again"),
    "names of others": (
        lambda request: request.getfixturevalue("parquet")(NAMES),
        r"x.parquet has no field 'text': it has bad\\n\\x1b\[2J, (long){15}, c0, .*, c17, \.\.\.$",
    ),
    "offsets": (out_of_order, r"data.arrow cannot be read \(.*offset.*\): save it again"),
    "a pipe as data": (partial(beside, name="data.arrow", change=piped), r"data.arrow cannot be read \(it is no file"),
    "data elsewhere": (partial(beside, name="data.arrow", change=linked), "data.arrow leads out of .*: put the file"),
    "a name elsewhere": (
        partial(beside, name="state.json", change=said('{"_data_files": [{"filename": "../data.arrow"}]}')),
        r"\.\./data.arrow leads out of",
    ),
}


@pytest.mark.parametrize(("made", "match"), DAMAGE.values(), ids=DAMAGE)
def test_damage_is_one_line(request, made, match):
    with pytest.raises(DataError, match=match) as error:
        read(made(request), "text")
    assert "\n" not in str(error.value)
