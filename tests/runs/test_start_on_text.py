"""A run that starts from another on text: the embeddings of one tokenizer are never taken for those of another."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import sealed_files
import text_runs
from safetensors.numpy import save_file

from posenc_jax.data.text import Data, Translation
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.supply import load_data, read_tokenizer

NAME = "own/help-en-de"
CONFIG = dataclasses.replace(
    text_runs.CONFIGS["translation"],
    task=Translation(data=Data(name=NAME, vocab_size=300), max_length=16, row=40, batching="plain"),
)


def corpus(letters, seed):
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list(letters), 4)) for _ in range(60)]

    def part(name, count):
        pairs = (rng.choice(words, (2, 3)) for _ in range(count))
        return [{"en": " ".join(a), "de": " ".join(b), "doc": f"{name}{i}"} for i, (a, b) in enumerate(pairs)]

    return {split: part(split, count) for split, count in (("train", 96), ("validation", 16), ("test", 16))}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A run's directory as far as its data goes."""
    folder = tmp_path_factory.mktemp("source")
    (folder / "run").mkdir()
    with text_runs.small_corpus(NAME, corpus("abcdef", 0), folder / "data"):
        load_data(CONFIG, folder / "run", print)
    return folder / "run"


@pytest.fixture
def begin(tmp_path):
    """What a run on another corpus, with this start, reads; and what is said of it."""

    def load(**changes):
        directory, notes = tmp_path / "run", []
        directory.mkdir()
        with text_runs.small_corpus(NAME, corpus("stuvwx", 1), tmp_path / "data"):
            load_data(dataclasses.replace(CONFIG, **changes), directory, notes.append)
        return read_tokenizer(directory), " ".join(notes)

    return load


def test_the_text_is_read_with_the_tokenizer_of_the_start(source, begin):
    tokenizer, notes = begin(init_from=str(source))
    assert tokenizer.sha256 == read_tokenizer(source).sha256
    assert f"init_from {source}: the text is read with its tokenizer" in notes


def test_without_a_start_it_has_its_own(source, begin):
    tokenizer, notes = begin()
    assert tokenizer.sha256 != read_tokenizer(source).sha256
    assert "tokenizer" not in notes


def test_another_number_of_pieces_is_refused(source, begin):
    task = dataclasses.replace(CONFIG.task, data=Data(name=NAME, vocab_size=301))
    with pytest.raises(RefusedError, match=r"has a tokenizer of 300 pieces, and this run asks for 301: use the same"):
        begin(init_from=str(source), task=task)


@pytest.mark.parametrize("known", [True, False])
def test_a_file_of_weights_of_another_tokenizer(source, begin, tmp_path, known):
    metadata = {"layout": "posenc_jax"} | ({"tokenizer": read_tokenizer(source).sha256} if known else {})
    tensors = {"a": np.zeros(1, np.float32)}
    save_file(tensors, tmp_path / "w.safetensors", sealed_files.weights_entry(metadata, tensors))
    start = {"init_from": str(tmp_path / "w.safetensors")}
    if known:
        with pytest.raises(RefusedError, match=r"trained with another tokenizer .*: start from the directory of its"):
            begin(**start)
    else:
        assert "does not say which tokenizer it was trained with" in begin(**start)[1]
