"""A run that starts from another on text: the embeddings of one tokenizer are never taken for those of another."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import sealed_files
import text_runs
from safetensors.numpy import save_file
from text_runs import ROWS, small_corpus

from posenc_jax.cli import main
from posenc_jax.data.checkpoint_tokenizers import tokenizer_from_bytes
from posenc_jax.data.text import Data, Translation
from posenc_jax.data.text.loading import load
from posenc_jax.runs.cell import run
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.inference import load_run, translate
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.supply import load_data, read_tokenizer
from posenc_jax.show.trained import _of_text
from posenc_jax.show.trained import load as load_trained
from posenc_jax.training.memory import parameters_of

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


# Translation with a vocabulary of the targets' own: made of them alone, kept with the run, and found again.


OF_ONE = text_runs.CONFIGS["translation"]
TARGETS = {
    "red": "Rotwein trinken wir",
    "sun": "Sonnenschein macht froh",
    "owl": "Eulenspiegel lacht laut",
    "ice": "Eiszapfen hangen herab",
}
TWO = dataclasses.replace(
    OF_ONE,
    task=dataclasses.replace(OF_ONE.task, target_vocab_size=300),
    model=dataclasses.replace(OF_ONE.model, tie_embeddings=False, tie_output=True),
    evaluation=dataclasses.replace(OF_ONE.evaluation, lengths=(12,), decoded_examples=0),
)


@pytest.fixture(scope="module")
def sides():
    """Targets of many letters, so that there is something to make pieces of."""
    return {
        split: [{**row, "de": TARGETS[row["en"].split()[0]]} for row in part]
        for split, part in ROWS["translation"].items()
    }


@pytest.fixture(scope="module")
def trained(sides, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    with small_corpus("own/help-en-de", sides, folder / "data"):
        results = run(TWO, folder / "run", reporter=Reporter())
        data = load(TWO.task)
    return TWO, folder / "run", results, data


def test_each_side_has_its_pieces(trained):
    _, _, _, data = trained
    assert (data.tokenizer.vocab_size, data.tokenizer.target.vocab_size) == (261, 300)
    first = data.arrays["train"]
    text = data.tokenizer.target.decode(first.targets.row(0).tolist())
    assert text in TARGETS.values()
    assert int(first.targets.tokens.max()) > 261, "pieces that no source has"
    again = tokenizer_from_bytes(data.tokenizer.to_bytes())
    assert (again.sha256, again.target.sha256) == (data.tokenizer.sha256, data.tokenizer.target.sha256)
    assert again.decode(again.encode("owl sun")) == "owl sun"


def test_a_run_writes_with_the_pieces_of_its_targets(trained):
    config, directory, results, _ = trained
    assert results[0]["num_parameters"] == parameters_of(config)
    loaded = load_run(directory)
    outputs = [output.text for output in translate(loaded, ["owl sun", "ice"])]
    assert any(word[:4] in text for text in outputs for word in TARGETS.values())
    tokens = _of_text(load_trained(directory, None, print), "owl sun")
    assert tokens.target_names is not None
    assert "".join(tokens.target_names(tokens.decoder_inputs[1:])).replace("▁", " ").strip()


def test_a_start_needs_both_vocabularies(trained, sides, tmp_path):
    config, directory, _, _ = trained
    for name, change in {"one": {"target_vocab_size": None}, "other": {"target_vocab_size": 301}}.items():
        model = dataclasses.replace(config.model, tie_embeddings=change["target_vocab_size"] is None)
        task = dataclasses.replace(config.task, **change)
        begun = dataclasses.replace(config, task=task, model=model, init_from=str(directory))
        (tmp_path / name).mkdir()
        with small_corpus("own/help-en-de", sides, tmp_path / f"{name}-data"), pytest.raises(RefusedError) as refused:
            load_data(begun, tmp_path / name, print)
        assert "has a tokenizer of 261 and 300 pieces, and this run asks for 261" in str(refused.value)
    (tmp_path / "same").mkdir()
    with small_corpus("own/help-en-de", sides, tmp_path / "same-data"):
        load_data(dataclasses.replace(config, init_from=str(directory)), tmp_path / "same", print)
    assert read_tokenizer(tmp_path / "same").sha256 == read_tokenizer(directory).sha256


def test_an_output_that_is_cut_off_begins_as_the_whole_one(trained, capsys):
    """Encodings see the room that outputs were measured with, however few tokens are asked for."""
    _, directory, _, _ = trained
    loaded = load_run(directory)
    target = loaded.tokenizer.target
    (whole,) = translate(loaded, ["owl sun"])
    (part,) = translate(loaded, ["owl sun"], max_new_tokens=2)
    assert whole.finished
    assert not part.finished
    assert part.text == target.decode(target.encode(whole.text)[:2])
    assert main(["translate", str(directory), "owl sun", "--max-new-tokens", "2"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (f"{part.text}\n", "cut off at the largest number of tokens: output 1\n")
    for number in (0, 27):
        with pytest.raises(RefusedError, match=rf"max_new_tokens = {number} must be from 1 to 26, the longest output"):
            translate(loaded, ["owl sun"], max_new_tokens=number)
