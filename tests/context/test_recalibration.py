"""``posenc context --recalibrate``: what is trained on, and that it is read with what that gave."""

import dataclasses
import json

import pytest
import text_runs
from tiny_checkpoints import whole

from posenc_jax.cli import main
from posenc_jax.context.recalibration import in_words, recalibrated
from posenc_jax.encodings import parse
from posenc_jax.runs.directory import load_config
from posenc_jax.runs.importing import import_checkpoint
from posenc_jax.runs.inference import load_run

TRAINED = 32


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recalibrated")
    import_checkpoint(whole(folder / "hf", max_position_embeddings=TRAINED), folder / "run")
    with text_runs.small_corpus("own/python-docs", text_runs.letters(48, 8), folder / "data"):
        yield folder / "run"


@pytest.mark.parametrize(
    ("word", "slot", "length", "expected"),
    [
        ("nope", "nope", 64, TRAINED),
        ("none", "rope(layout='half')", 64, TRAINED),
        ("self_extend", "rope(layout='half')", 64, 64),
        ("yarn", "rope(layout='half', scaling=yarn(factor=2.0, original_length=32))", 64, 64),
        ("yarn(4)", "rope(layout='half', scaling=yarn(factor=4.0, original_length=32))", 64, 128),
        ("yarn", "rope(layout='half')", 16, TRAINED),
        ("alibi", "alibi", 64, TRAINED),
    ],
)
def test_what_is_trained_on(imported, word, slot, length, expected):
    loaded = load_run(imported)
    config = recalibrated(loaded, word, parse(slot), length, 30)
    assert (config.posenc, config.task.max_length, config.task.row) == (parse(slot), expected, expected)
    assert (config.training.steps, config.seeds, config.learning_rates) == (30, (loaded.seed,), (loaded.learning_rate,))
    assert config.init_from == str(imported)
    assert dataclasses.replace(config.training, steps=loaded.config.training.steps) == loaded.config.training
    assert recalibrated(loaded, word, parse(slot), length, 30, 1e-4).learning_rates == (1e-4,)
    assert in_words([config]) == (
        f"1 x 30 steps are trained first, of 32 texts of {expected} tokens, at a learning rate of 0.001"
    )


def test_the_warmup_takes_a_tenth_of_the_steps_at_most(imported):
    loaded = load_run(imported)
    optimizer = dataclasses.replace(loaded.config.optimizer, warmup_steps=50)
    loaded = dataclasses.replace(loaded, config=dataclasses.replace(loaded.config, optimizer=optimizer))
    found = [recalibrated(loaded, "nope", (), 64, steps).optimizer.warmup_steps for steps in (5, 100, 800)]
    assert found == [0, 10, 50]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("many", "--recalibrate: invalid float value: 'many'"),
        *((words, "--recalibrate takes a number of steps") for words in ("0", "1.5", "10 1e-3 2", "10 -1", "10 0")),
        *((words, "learning_rates") for words in ("10 nan", "10 inf")),
    ],
)
def test_what_is_refused(imported, refusal, words, message):
    asked = ["context", str(imported), "--lengths", "2x", "--recalibrate", *words.split()]
    assert message in refusal(*asked, "--measure", "perplexity", "--output", str(imported.parent / "none"))
    assert not (imported.parent / "none").exists()


@pytest.mark.slow
def test_it_trains_on_and_reads_with_that(imported, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("posenc_jax.context.recalibration.recalibrated", _small)
    words = ["context", str(imported), "--lengths", "1x", "2x", "--change", "none", "nope", "--measure", "perplexity"]
    texts = [tmp_path / f"{number}.txt" for number in range(2)]
    for path, row in zip(texts, text_runs.letters(0, 2)["test"], strict=True):
        path.write_text(row["text"])
    words += ["far", "--text", *map(str, texts)]
    assert main([*words, "--output", str(tmp_path / "before")]) == 0
    assert main([*words, "--recalibrate", "3", "--output", str(tmp_path / "after")]) == 0
    assert "2 x 3 steps are trained first, of 4 texts of 32 tokens" in (said := capsys.readouterr().err)
    assert "10 of 10 answers are to be computed" in said
    before, after = (
        {(own["change"], own["length"]): own for own in json.loads((tmp_path / name / "record.json").read_text())}
        for name in ("before", "after")
    )
    assert before.keys() == after.keys()
    for own, old in before.items():
        assert old["far_tokens"] == after[own]["far_tokens"]
        assert old["loss"] != after[own]["loss"]
    folders = sorted(path for path in (tmp_path / "after").iterdir() if path.is_dir())
    assert [load_config(path).posenc for path in folders] == [(), load_config(imported).posenc]

    monkeypatch.setattr("posenc_jax.runs.cell.Engine", lambda *_: pytest.fail("trained again"))
    assert main([*words, "--recalibrate", "3", "--output", str(tmp_path / "after")]) == 0
    assert "all 10 answers are in" in capsys.readouterr().err


def _small(*arguments):
    """The run with 4 texts a step, and all of it at once."""
    config = recalibrated(*arguments)
    training = dataclasses.replace(config.training, batch_size=4, log_every=1, validation_batches=1)
    return dataclasses.replace(config, training=training)
