"""Translation with a vocabulary of the targets' own: made of them alone, kept with the run, and found again."""

from __future__ import annotations

import dataclasses

import pytest
import text_runs
from text_runs import ROWS, small_corpus

from posenc_jax.cli import main
from posenc_jax.data.checkpoint_tokenizers import tokenizer_from_bytes
from posenc_jax.data.text.loading import load
from posenc_jax.runs.cell import run
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.inference import load_run, translate
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.supply import load_data, read_tokenizer
from posenc_jax.show.trained import _of_text
from posenc_jax.show.trained import load as load_trained
from posenc_jax.training.memory import parameters_of

BASE = text_runs.CONFIGS["translation"]
TARGETS = {
    "red": "Rotwein trinken wir",
    "sun": "Sonnenschein macht froh",
    "owl": "Eulenspiegel lacht laut",
    "ice": "Eiszapfen hangen herab",
}
CONFIG = dataclasses.replace(
    BASE,
    task=dataclasses.replace(BASE.task, target_vocab_size=300),
    model=dataclasses.replace(BASE.model, tie_embeddings=False, tie_output=True),
    evaluation=dataclasses.replace(BASE.evaluation, lengths=(12,), decoded_examples=0),
)


@pytest.fixture(scope="module")
def rows():
    """Targets of many letters, so that there is something to make pieces of."""
    return {
        split: [{**row, "de": TARGETS[row["en"].split()[0]]} for row in part]
        for split, part in ROWS["translation"].items()
    }


@pytest.fixture(scope="module")
def trained(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    with small_corpus("own/help-en-de", rows, folder / "data"):
        results = run(CONFIG, folder / "run", reporter=Reporter())
        data = load(CONFIG.task)
    return CONFIG, folder / "run", results, data


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


def test_a_start_needs_both_vocabularies(trained, rows, tmp_path):
    config, directory, _, _ = trained
    for name, change in {"one": {"target_vocab_size": None}, "other": {"target_vocab_size": 301}}.items():
        model = dataclasses.replace(config.model, tie_embeddings=change["target_vocab_size"] is None)
        task = dataclasses.replace(config.task, **change)
        begun = dataclasses.replace(config, task=task, model=model, init_from=str(directory))
        (tmp_path / name).mkdir()
        with small_corpus("own/help-en-de", rows, tmp_path / f"{name}-data"), pytest.raises(RefusedError) as refused:
            load_data(begun, tmp_path / name, print)
        assert "has a tokenizer of 261 and 300 pieces, and this run asks for 261" in str(refused.value)
    (tmp_path / "same").mkdir()
    with small_corpus("own/help-en-de", rows, tmp_path / "same-data"):
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
