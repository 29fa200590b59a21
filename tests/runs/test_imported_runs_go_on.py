"""Imported runs in other commands: measured with other positions, started from, drawn."""

import dataclasses

import pytest
import text_runs
from tiny_checkpoints import whole
from trained_runs import Notes

from posenc_jax import Evaluation, Training, run
from posenc_jax.data.text import Data, LanguageModel
from posenc_jax.encodings import parse
from posenc_jax.runs.directory import load_config, results
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.importing import import_checkpoint


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imported")
    import_checkpoint(whole(folder / "hf", "llama"), folder / "run")
    with text_runs.small_corpus("own/python-docs", text_runs.letters(24, 4), folder / "data"):
        yield folder / "run"


def test_it_is_measured_with_other_positions(imported):
    losses = {}
    for text in ("rope(base=500000.0, layout='half')", "nope"):
        notes = Notes()
        _, rows = evaluate(imported, (16,), parse(text), reporter=notes)
        losses[text] = rows[0]["loss"]
        assert not [line for line in notes.notes if "not recorded" in line]
    assert len(set(losses.values())) == 2


@pytest.mark.slow
def test_a_run_starts_from_it(imported, tmp_path):
    config = load_config(imported)
    data = Data(name="own/python-docs", tokenizer="checkpoint", vocab_size=config.task.vocab_size)
    config = dataclasses.replace(
        config,
        task=LanguageModel(data=data, max_length=16, row=16),
        posenc=parse("nope"),
        training=Training(steps=2, batch_size=2, steps_per_call=1, log_every=1),
        evaluation=Evaluation(lengths=(16,), num_examples=4),
        init_from=str(imported),
        note="",
    )
    notes = Notes()
    run(config, tmp_path / "run", reporter=notes)
    assert not [line for line in notes.notes if "not recorded" in line]
    (found,) = results(tmp_path / "run")
    assert found["bit_exact"] is True
