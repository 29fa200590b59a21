"""Imported encoders as runs of masked language modelling: measured, drawn, gone on with, written back equal."""

import dataclasses
import json

import numpy as np
import pytest
import text_runs
from make_huggingface_reference import CASES
from tiny_checkpoints import checkpoint_of, differing, whole

from posenc_jax import Evaluation, Training, run
from posenc_jax.data.errors import DataError
from posenc_jax.data.text.loading import load as load_data
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.huggingface.families import FAMILIES
from posenc_jax.runs.evaluation import evaluate
from posenc_jax.runs.importing import export_checkpoint, import_checkpoint
from posenc_jax.runs.inference import load_run
from posenc_jax.runs.reporter import Reporter
from posenc_jax.show import trained

NAMES = ["bert", *(pytest.param(name, marks=pytest.mark.slow) for name in ("roberta", "modernbert", "deberta_v2"))]
MASK = 47


def with_mask(folder, name, **changes):
    """A checkpoint whose tokenizer has a mask, its last token."""
    path = whole(folder, name, **changes)
    file = path / "tokenizer.json"
    content = json.loads(file.read_text())
    vocabulary = content["model"]["vocab"]
    vocabulary["[MASK]"] = vocabulary.pop(next(word for word, number in vocabulary.items() if number == MASK))
    file.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("name", NAMES)
def test_loss_of_hidden_tokens(tmp_path, name):
    """That of the checkpoint's own model on each window by itself."""
    path = with_mask(tmp_path / "hf", name)
    config = import_checkpoint(path, tmp_path / "run")
    assert (config.task.mask, config.posenc) == (MASK, load(path).slots.encoder)
    with text_runs.small_corpus("own/python-docs", text_runs.letters(8, 4), tmp_path / "data"):
        _, (row,) = evaluate(tmp_path / "run", (24,))
        data = load_data(config.task, tokenizer=load_run(tmp_path / "run").tokenizer, splits=("test",))
        batch = config.task.test_batch(data.arrays, None, np.int32(24), np.arange(row["count"]), 24)
    model, losses = load(path).build(), []
    types = {"token_types": np.zeros((1, 24), np.int32)} if model.config.token_types else {}
    for tokens, targets, weights in zip(batch.inputs, batch.targets, batch.weights, strict=True):
        logits = np.asarray(model(tokens[None], **types)[0], np.float64)
        found = np.log(np.exp(logits).sum(-1)) - logits[np.arange(24), targets]
        losses += found[np.asarray(weights) > 0].tolist()
    assert len(losses) > 20
    np.testing.assert_allclose(row["loss"], np.mean(losses), rtol=1e-5)
    np.testing.assert_allclose(row["perplexity"], np.exp(row["loss"]), rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_export_gives_it_back(tmp_path, name):
    source = with_mask(tmp_path / "hf", name)
    import_checkpoint(source, tmp_path / "run")
    export_checkpoint(tmp_path / "run", tmp_path / "again")
    assert differing(source, tmp_path / "again") == []
    own = json.loads((tmp_path / "again" / "config.json").read_text())
    added = {"architectures": own["architectures"], "torch_dtype": "float32"}
    assert own == CASES[name] | added | FAMILIES[CASES[name]["model_type"]].written


@pytest.mark.slow
def test_a_run_starts_from_it(tmp_path):
    config = import_checkpoint(with_mask(tmp_path / "hf", "bert"), tmp_path / "run")
    further = dataclasses.replace(
        config,
        training=Training(steps=2, batch_size=2, steps_per_call=1, log_every=1),
        evaluation=Evaluation(lengths=(16,), num_examples=4),
        init_from=str(tmp_path / "run"),
        note="",
    )
    with text_runs.small_corpus("own/python-docs", text_runs.letters(24, 20), tmp_path / "data"):
        run(further, tmp_path / "further", reporter=Reporter())
    export_checkpoint(tmp_path / "further", tmp_path / "again")
    assert load(tmp_path / "again").family.name == "bert"


def test_maps_of_attention_have_both_ends(tmp_path):
    import_checkpoint(with_mask(tmp_path / "hf", "bert"), tmp_path / "run")
    found = trained.input_of(trained.load(tmp_path / "run", None, print), "cd")
    assert (found.inputs, found.types) == ([1, 5, 6, 2], [0] * 4)


def test_encoders_that_give_no_run(tmp_path):
    for path, match in (
        (whole(tmp_path / "a", "bert"), r"its tokenizer.json has neither \[MASK\] nor <mask>, which hides the tokens"),
        (
            checkpoint_of("bert_model", tmp_path / "b"),
            "is BertModel, an encoder without the head of a masked language model, .* in Python, by posenc_jax.hugging",
        ),
    ):
        with pytest.raises(DataError, match=match) as error:
            import_checkpoint(path, tmp_path / "run")
        assert "\n" not in str(error.value)
        assert not (tmp_path / "run").exists()
