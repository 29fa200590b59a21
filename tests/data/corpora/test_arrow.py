"""Parquet files and saved data sets: what is damaged in them, and how far they are unpacked."""

import json

import pyarrow
import pyarrow.parquet
import pytest

from posenc_jax.data.corpora import arrow
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.packed import page_sizes
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


def few(texts):
    """Many rows of few texts, as a dictionary and numbers."""
    return pyarrow.array(texts).dictionary_encode()


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


PACKED = {
    "a dictionary": ({"text": few(["z" * 2**16] * 99)}, {"store_schema": False}),
    "a packed page": (
        {"text": [f"{i}" + "z" * 2**16 for i in range(99)]},
        {"compression": "zstd", "use_dictionary": False},
    ),
    "shared beginnings": (
        {"text": [f"{'z' * 2**16}{i}" for i in range(99)]},
        {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
    ),
    "rows of nothing": ({"text": pyarrow.nulls(2**17, pyarrow.string())}, {}),
    "one text": ({"text": ["z" * 2**23]}, {"compression": "zstd", "use_dictionary": False}),
}


@pytest.mark.parametrize("kind", PACKED)
def test_a_parquet_file_is_unpacked_within_a_bound(parquet, monkeypatch, kind):
    columns, options = PACKED[kind]
    path = parquet(columns, **options)
    monkeypatch.setattr(arrow, "MOST_BYTES", 2**22)
    monkeypatch.setattr(arrow, "MOST_TIMES", 2)
    monkeypatch.setattr(arrow, "chosen", None)  # which is not called: nothing has been kept
    with pytest.raises(
        DataError, match=r"x.parquet of [\d,]+ bytes unpacks to more than 4,194,304, which is the bound"
    ):
        read(path, "text")
    monkeypatch.undo()
    assert len(read(path, "text")) == len(next(iter(columns.values())))


@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False, "compression": "zstd"}, {"data_page_version": "2.0"}]
)
def test_pages_say_what_they_unpack_to(parquet, options):
    columns = {"a": [f"text {i}" * 9 for i in range(5000)], "b": list(range(5000)), "c": [[1, 2]] * 5000}
    path = parquet(columns, row_group_size=2000, data_page_size=10_000, **options)
    metadata = pyarrow.parquet.ParquetFile(path).metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    stated = sum(group.column(i).total_uncompressed_size for group in groups for i in range(group.num_columns))
    found = page_sizes(path, metadata, ("a", "b", "c"))
    assert 0.95 * stated < sum(found) < stated  # which has the headers too
    assert sum(page_sizes(path, metadata, ("b",))) < sum(found) / 2


def test_pages_are_believed_and_no_total(parquet, monkeypatch):
    """The total that a file states of a column is not what is unpacked."""
    path = parquet({"text": ["z" * 2**23]}, compression="zstd", use_dictionary=False)
    content = path.read_bytes()
    metadata = pyarrow.parquet.ParquetFile(path).metadata
    stated = metadata.row_group(0).column(0).total_uncompressed_size
    varint, left = b"", stated << 1
    while left:
        varint += bytes([left & 127 | 128 * (left > 127)])
        left >>= 7
    assert content.count(varint) >= 1
    path.write_bytes(content.replace(varint, b"\x82" + b"\x80" * (len(varint) - 2) + b"\x00"))
    assert pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0).total_uncompressed_size == 1
    monkeypatch.setattr(arrow, "MOST_BYTES", 2**22)
    with pytest.raises(DataError, match="unpacks to more than"):
        read(path, "text")


def test_a_saved_data_set_is_unpacked_within_a_bound(saved, monkeypatch):
    monkeypatch.setattr(arrow, "MOST_BYTES", 2**20)
    monkeypatch.setattr(arrow, "MOST_TIMES", 2)
    for texts in (few(["z" * 2**16] * 99), pyarrow.nulls(2**17)):
        with pytest.raises(DataError, match="unpacks to more than 1,048,576"):
            read(saved({"text": texts}), "text")
    for codec in ("zstd", "lz4"):
        options = {"options": pyarrow.ipc.IpcWriteOptions(compression=codec)}
        for texts in (["z" * 2**16], few(["z" * 2**16] * 9)):
            with pytest.raises(DataError, match=r"data.arrow is compressed, which save_to_disk does not do: save"):
                read(saved({"text": texts}, **options), "text")
    assert read(saved({"text": ["a", None]}), "text") == [{"text": "a"}, Malformed("field 'text' is null")]


@pytest.mark.parametrize("form", ["parquet", "saved"])
def test_columns_of_lists_are_refused_by_their_type(request, form):
    columns = {"a": [["x"] * 3], "b": [{"x": "y"}], "c": [b"x"], "text": ["x"]}
    path = request.getfixturevalue(form)(columns)
    for field, kind in (("a", "list<"), ("b", "struct<x: string>"), ("c", "binary")):
        with pytest.raises(DataError, match=rf"field {field!r} is of type {kind}.*, not a text: name another field"):
            read(path, "text", field)
    assert read(path, "text") == [{"text": "x"}]


def test_offsets_that_are_out_of_order_are_damage(saved):
    offsets = pyarrow.py_buffer(pyarrow.array([0, 3, 1, 4], pyarrow.int32()).buffers()[1])
    texts = pyarrow.Array.from_buffers(pyarrow.string(), 3, [None, offsets, pyarrow.py_buffer(b"abcd")])
    with pytest.raises(DataError, match=r"data.arrow is damaged \(a text ends before it begins\)"):
        read(saved({"text": texts}), "text")
