"""Rows by number, of what is prepared here and of the hub, which no test reaches."""

import pytest
import tensorflow_datasets as tfds

from posenc_jax.data.corpora import source
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.source import load_source
from posenc_jax.data.corpora.store import add

NAME = "own/tiny"
ROWS = {
    "train": [{"text": f"Zeile {i} „ü“ 日本\n\n語", "doc": f"d{i}"} for i in range(2500)],
    "test": [{"text": "", "doc": "leer"}],
}


@pytest.fixture
def prepared(tmp_path):
    add(NAME, ROWS, ("text", "doc"), {"kind": "text"}, directory=tmp_path, note=str)
    return tmp_path


def test_rows_of_a_local_corpus_in_order(prepared):
    rows = load_source(NAME, "train", prepared)
    assert len(rows) == 2500
    assert rows.columns == ("text", "doc")
    assert list(rows) == ROWS["train"]  # across chunks
    assert [rows[i] for i in (2499, 0, 1024)] == [ROWS["train"][i] for i in (2499, 0, 1024)]
    assert list(load_source(NAME, "test", prepared)) == ROWS["test"]
    for outside in (-1, 2500):
        with pytest.raises(IndexError, match=rf"row {outside} of own/tiny, split train: it has rows 0 to 2499"):
            rows[outside]


def test_a_local_corpus_that_cannot_be_read(prepared, tmp_path):
    with pytest.raises(DataError, match=r"own/tiny has no split 'tets': use one of train, test"):
        load_source(NAME, "tets", prepared)
    with pytest.raises(DataError, match=r"own/tiny is not prepared in .*: posenc data add tiny .* --directory .*empty"):
        load_source(NAME, "train", tmp_path / "empty")
    next(prepared.rglob("*train.array_record*")).write_bytes(b"")
    with pytest.raises(DataError, match=r"train\.array_record.* is damaged .*--rebuild"):
        load_source(NAME, "train", prepared)


@pytest.mark.parametrize(
    ("name", "columns"),
    [("wmt14_translate/de-en", {"de", "en"}), ("ag_news_subset", {"title", "description", "label"})],
)
def test_data_sets_of_the_hub_give_text(name, columns, tmp_path, monkeypatch):
    monkeypatch.setattr(source, "reachable", lambda url: True)
    with tfds.testing.mock_data(num_examples=3):
        rows = load_source(name, "train", tmp_path)
        assert len(rows) == 3
        found = [rows[i] for i in range(3)]
    assert set(rows.columns) == columns
    for row in found:
        assert set(row) == columns
        assert all(type(text) is str and text for text in row.values())
        assert row.get("label", "World") in {"World", "Sports", "Business", "Sci/Tech"}


@pytest.mark.parametrize(
    ("name", "host", "instead"),
    [
        ("wmt14_translate/de-en", "https://www.statmt.org", "use grammar/en-de, grammar/reports, or texts of your"),
        ("scan", "https://github.com", "use the task Scan, which generates"),
    ],
)
def test_without_a_network_other_corpora_are_named(name, host, instead, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(source, "reachable", lambda url: asked.append(url))
    with pytest.raises(DataError) as error:
        load_source(name, "train", tmp_path)
    assert asked == [host]
    assert f"{name} is not prepared in {tmp_path}" in str(error.value)
    assert f"{host} does not answer; without a network {instead}" in str(error.value)


def test_what_needs_tensorflow_to_prepare_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(source.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"lm1b is not prepared in .* needs tensorflow .*array_record"):
        load_source("lm1b", "train", tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("grammar/en-d", r"no corpus 'grammar/en-d', .* mean 'grammar/en-de' .*local corpora are grammar/en-de, gram"),
        ("scann", r"no corpus 'scann', .* did you mean 'scan'\?"),
        ("wmt14_translate/de-xx", r"wmt14_translate .* has no 'de-xx': use one of cs-en, de-en, fr-en"),
        ("scan:9.9.9", r"cannot make 'scan:9\.9\.9' \(Dataset scan cannot be loaded at .*only: 1\.1\.1\.\)"),
    ],
)
def test_unknown_names(name, message, tmp_path):
    with pytest.raises(DataError, match=message):
        load_source(name, "train", tmp_path)


def test_the_name_of_a_file_is_told_from_that_of_a_corpus(tmp_path):
    with pytest.raises(DataError, match=r"is a file's name, not a corpus's: `posenc data add NAME --text"):
        load_source("./my.txt", "train", tmp_path)
