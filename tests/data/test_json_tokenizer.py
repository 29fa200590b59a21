"""Tokenizers of others: what a run does with a ``tokenizer.json``, and what it refuses."""

from __future__ import annotations

import dataclasses
import json
import re
import sys

import pytest
import tokenizers

from posenc_jax.config import Evaluation, Run, Training, from_json, to_json
from posenc_jax.data.checkpoint_tokenizers import tokenizer_from_bytes
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.corpora.store import add
from posenc_jax.data.text import Data, LanguageModel
from posenc_jax.data.text.loading import load
from posenc_jax.data.tokenizer import BOS, EOS, PAD, SEP, UNK, ByteTokenizer, JsonTokenizer
from posenc_jax.extras import MissingExtraError, install_command
from posenc_jax.models.config import Transformer
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.supply import load_data, read_tokenizer

WORDS = ("[UNK]", "[CLS]", "the", "cat", "sees", "dog")
LINES = ["the cat sees the dog", "the dog sees", "cat cat cat"]


def file_of(words=WORDS):
    """As tokenizers.Tokenizer.save writes it: words between spaces, a start token, texts cut after 2."""
    vocabulary = {word: number for number, word in enumerate(words)}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    start = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    return json.dumps(
        {
            "version": "1.0",
            "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
            "padding": None,
            "added_tokens": [{"id": i, "content": words[i], **special} for i in (0, 1)],
            "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": start,
                "pair": [*start, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]}},
            },
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
        }
    ).encode()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(file_of())
    rows = {split: [{"text": line, "doc": f"{split}{i}"} for i, line in enumerate(LINES)] for split in SPLITS}
    add("own/lines", rows, ("text", "doc"), {"kind": "text", "licence": "", "sources": {}}, note=str)
    return tmp_path


SPLITS = ("train", "validation", "test")


def config(**changes):
    data = Data(**{"name": "own/lines", "tokenizer": "tokenizer.json", "vocab_size": 5 + len(WORDS)} | changes)
    return Run(
        task=LanguageModel(data=data, max_length=8, row=8),
        model=Transformer(d_model=8, num_layers=1, num_heads=1),
        training=Training(steps=1, batch_size=1),
        evaluation=Evaluation(lengths=(8,)),
        seeds=(0,),
    )


def test_ids_are_moved_past_ours_and_nothing_is_added_or_cut():
    found = JsonTokenizer(file_of())
    assert found.vocab_size == 11
    assert found.encode(LINES[0]) == [7, 8, 9, 7, 10]
    assert found.encode_all(LINES) == [[7, 8, 9, 7, 10], [7, 10, 9], [8, 8, 8]]
    assert found.encode("the bird") == [7, 5]
    assert found.encode("") == []
    assert found.decode([BOS, 7, 8, SEP, 9, EOS, 7]) == "the cat sees"
    assert not {PAD, BOS, EOS, UNK, SEP} & {token for line in LINES for token in found.encode(line)}
    again = tokenizer_from_bytes(found.to_bytes())
    assert isinstance(again, JsonTokenizer)
    assert again.sha256 == found.sha256
    assert isinstance(tokenizer_from_bytes(ByteTokenizer().to_bytes()), ByteTokenizer)


@pytest.mark.parametrize("data", [b"{}", b'{"version": "1.0"}', b"\xff{", b"{" * 999])
def test_what_is_no_tokenizer(data):
    with pytest.raises(DataError, match=r"bytes are no tokenizer.json \(.*name the file that tokenizers.Tok"):
        JsonTokenizer(data)


def test_without_the_package_one_line_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_command("text")) + "$"):
        tokenizer_from_bytes(file_of())


def test_a_run_keeps_it_and_refuses_another(here):
    asked = config()
    assert from_json(json.loads(json.dumps(to_json(asked)))) == asked
    assert asked.task.vocab_size == 11
    directory = here / "run"
    directory.mkdir()
    data = load_data(asked, directory, str)
    assert data.identity["tokenizer"] == data.tokenizer.sha256
    assert (directory / "tokenizer.model").read_bytes() == file_of()
    assert read_tokenizer(directory).encode("cat") == [8]
    (here / "tokenizer.json").unlink()
    assert load_data(asked, directory, str).tokenizer.sha256 == data.tokenizer.sha256, "the run has its own copy"
    (here / "tokenizer.json").write_bytes(file_of((*WORDS[:-1], "bird")))
    with pytest.raises(RefusedError, match=r"data.tokenizer = 'tokenizer.json' is not the tokenizer that this run has"):
        load_data(asked, directory, str)
    (directory / "tokenizer.model").write_bytes(file_of((*WORDS[:-1], "bird")))
    with pytest.raises(RefusedError, match=r"tokenizer.model is not the tokenizer of this run"):
        load_data(asked, directory, str)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 4000}, r"data.vocab_size = 4000, and tokenizer.json has 11 ids .*: set data.vocab_size to 11"),
        ({"tokenizer": "none.json"}, r"data.tokenizer = 'none.json': there is no file .*none.json"),
        ({"tokenizer": "broken.json"}, r"data.tokenizer = 'broken.json': 2 bytes are no tokenizer.json"),
    ],
)
def test_what_does_not_fit(here, changes, message):
    (here / "broken.json").write_text("{}")
    with pytest.raises(DataError, match=message):
        load(config(**changes).task)


def test_other_words_are_refused_at_once():
    with pytest.raises(
        ValueError, match=r"data.tokenizer = 'bpee' is not 'bpe', 'bytes', 'checkpoint' or a file that ends in .json"
    ):
        Data(tokenizer="bpee")
    assert dataclasses.replace(Data(), tokenizer="bytes").num_tokens == 261


def test_a_text_that_the_tokenizer_has_no_token_for_is_one_line():
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"known": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = JsonTokenizer(made.to_str().encode())
    with pytest.raises(DataError, match=r"cannot be read with this tokenizer.json \(.*UNK.*\): give it a token"):
        tokenizer.encode("known unknown")
