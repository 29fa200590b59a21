"""Own corpora from Parquet files and saved data sets, and from what a page makes JSON lines of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from own_corpora import PAIR, pairs, said, why

from posenc_jax.cli import main
from posenc_jax.data.corpora import arrow
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.reading import Malformed
from posenc_jax.data.corpora.source import load_split, text_of
from posenc_jax.data.corpora.store import manifest


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
    with pytest.raises(DataError, match=r"y.parquet cannot be read"):
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
    assert capsys.readouterr().out == (
        "train on it: posenc train --on own/both; compare encodings on it: posenc ablate --on own/both\n"
        "before they train, both say how well a mean over its test texts will be known\n"
    )
    assert len(load_split("own/both", "test")) == 50
    assert manifest("own/both")["labels"] == ["neg", "pos"]
    assert main(["data", "add", "one", "--saved", "saved/train", "--field", "text"]) == 0
    for damage in ("[]", "{", '{"splits": 3}'):
        (saved / "dataset_dict.json").write_text(damage)
        assert main(["data", "add", "damaged", "--saved", "saved", "--field", "text"]) == 2
        assert "dataset_dict.json" in said(capsys)


def test_an_example_without_a_class_is_not_given_one():
    import tensorflow_datasets as tfds

    with pytest.raises(DataError, match=r"an example is unlabelled \(-1\)"):
        text_of(tfds.features.ClassLabel(names=["no", "yes"]))(-1)
    assert arrow._labelled({"k": -1}, ("k",), {"k": ["no", "yes"]}, ()) == Malformed("field 'k' is unlabelled (-1)")


def test_the_lines_of_the_page_work_as_they_are_printed(here):
    page = (Path(__file__).parents[3] / "scripts" / "docs" / "own-text.md").read_text()
    (here / "proverbs.tsv").write_text("".join(f"{'de' if i % 2 else 'en'}\tproverb {i}\n" for i in range(40)))
    exec(page.partition("```python\n")[2].partition("```")[0])
    (command,) = [line.split() for line in page.splitlines() if "proverbs.jsonl --field" in line]
    assert command[0] == "posenc"
    assert main(command[1:]) == 0
    assert manifest("own/proverbs")["labels"] == ["de", "en"]
