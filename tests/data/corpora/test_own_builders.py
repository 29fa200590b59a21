"""Own corpora from Parquet files, saved data sets and builders of tensorflow_datasets."""

from __future__ import annotations

import importlib
import json
import re
import sys
import types
from pathlib import Path

import pytest
from own_corpora import PAIR, pairs, said, why

from posenc_jax.cli import main
from posenc_jax.data.corpora import arrow, reading
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
    assert capsys.readouterr().out == (
        "train on it: posenc train --on own/both; compare encodings on it: posenc ablate --on own/both\n"
    )
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


def test_a_builder_by_its_import_path(here, refusal, printed):
    (here / "my_builder_here.py").write_text(BUILDER)
    arguments = ["--builder", "my_builder_here.py:Mine", "--field", "body"]
    assert "posenc train --on own/built" in printed("data", "add", "built", *arguments, "--label", "kind")
    assert {row["body"] for row in load_split("own/built", "test")} == {f"text {i} of 9" for i in range(9)}
    said = refusal("data", "add", "again", *arguments[:-1], "text")
    assert "Mine has no text or class 'text': it has body, kind" in said


def test_rows_of_a_builder_pass_what_those_of_files_pass(here, capsys, refusal):
    bad = f'[f"text {{i}} of {{count}}", "a\\0b", "x" * {reading.LONGEST_LINE + 1}, b"gr\\xf6", " "][max(0, i - 85)]'
    (here / "my_bad.py").write_text(BUILDER.replace("Mine", "Bad").replace('f"text {i} of {count}"', bad))
    arguments = ["--builder", "my_bad.py:Bad", "--field", "body"]
    assert "4 of 99 records cannot be used (" in refusal("data", "add", "built", *arguments)
    assert main(["data", "add", "built", *arguments, "--most-malformed", "0.1"]) == 0
    listed = said(capsys).partition("4 records are left out: ")[2].splitlines()[0]
    assert sorted(re.findall(r"Bad:train:\d+ \((.*?)\)", listed)) == [
        "field 'body' has a NUL byte or half a character",
        "field 'body' is empty",
        "field 'body' is longer than 1,048,576 characters",
        "field 'body' is not UTF-8 at byte 3",
    ]


@pytest.mark.parametrize(("name", "ends"), [("Exits", "SystemExit(3)"), ("Fails", "RuntimeError('boom\\nmore')")])
def test_a_builder_that_ends_is_named_in_a_line(here, refusal, name, ends):
    builder = BUILDER.replace("for i in", f"raise {ends}\n        for i in").replace("Mine", name)
    (here / f"my_{name}.py").write_text(builder)
    line = refusal("data", "add", "built", "--builder", f"my_{name}.py:{name}", "--field", "body")
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


def test_a_builder_that_is_imported_when_it_is_used(here, capsys, refusal, monkeypatch):
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
    line = refusal("data", "add", "none", *arguments, "lazy_names:Unknown")
    assert "posenc: lazy_names:Unknown cannot be imported (DatasetNotFoundError: " in line


def test_an_example_without_a_class_is_not_given_one(here, capsys, refusal):
    source = BUILDER.replace("Mine", "Unlabelled").replace('"yes" if i % 2', '-1 if i % 30 == 9 else "yes" if i % 2')
    source = source.replace('{"train"', '{"unsupervised": self._generate_examples(60), "train"').replace("(9)", "(19)")
    (here / "my_unlabelled.py").write_text(source)
    arguments = ["--builder", "my_unlabelled.py:Unlabelled", "--field", "body", "--label", "kind"]
    assert "4 of 109 records cannot be used (" in refusal("data", "add", "some", *arguments)
    assert main(["data", "add", "some", *arguments, "--most-malformed", "0.1"]) == 0
    assert "(field 'kind' is unlabelled (-1))" in said(capsys)
    rows = [row for split in ("train", "test", "validation") for row in load_split("own/some", split)]
    assert {row["body"] for row in rows}.isdisjoint({"text 9 of 90", "text 39 of 90", "text 69 of 90", "text 9 of 19"})
    import tensorflow_datasets as tfds

    with pytest.raises(DataError, match=r"an example is unlabelled \(-1\)"):
        text_of(tfds.features.ClassLabel(names=["no", "yes"]))(-1)
    assert arrow._labelled({"k": -1}, ("k",), {"k": ["no", "yes"]}, ()) == Malformed("field 'k' is unlabelled (-1)")


def test_a_builder_with_a_key_twice_is_named_with_the_key(here, refusal):
    (here / "my_twice.py").write_text(BUILDER.replace("Mine", "Twice").replace("yield i,", "yield i % 80,"))
    line = refusal("data", "add", "twice", "--builder", "my_twice.py:Twice", "--field", "body")
    assert line.startswith("posenc: Twice yields the key 0 of the split train twice: give every example a key of its")


def test_the_builder_of_the_page_works_as_it_is_printed(here):
    page = (Path(__file__).parents[3] / "scripts" / "docs" / "own-text.md").read_text()
    (here / "proverbs.py").write_text(page.partition("```python\n")[2].partition("```")[0])
    (here / "proverbs.tsv").write_text("".join(f"{'de' if i % 2 else 'en'}\tproverb {i}\n" for i in range(40)))
    (command,) = [line.split() for line in page.splitlines() if "proverbs.py:Proverbs" in line]
    assert command[0] == "posenc"
    assert main(command[1:]) == 0
    assert manifest("own/proverbs")["labels"] == ["de", "en"]
