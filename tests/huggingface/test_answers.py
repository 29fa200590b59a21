"""Imported encoder-decoders answer as `generate` of transformers does, by the ids that their configs declare."""

import jax
import numpy as np
import pytest
from make_huggingface_reference import NEW, sources
from tiny_checkpoints import REFERENCE, checkpoint_of

from posenc_jax.data.answer_ids import AnswerIds
from posenc_jax.data.errors import DataError
from posenc_jax.huggingface.checkpoint import load
from posenc_jax.models import Beam, Greedy, decode

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("t5", "umt5", "marian")]


@pytest.mark.parametrize("name", ["t5_1_1", *SLOW])
def test_answers_of_three_sources(tmp_path, name):
    """One at least ends, and is filled up."""
    with jax.enable_x64(True):
        checkpoint = load(checkpoint_of(name, tmp_path))
        ids, model = checkpoint.answers, checkpoint.build(np.float64)
        prompt = np.full((3, 1), ids.start)

        def answered(model):
            call = {"memory": model.encode(sources()), "eos": ids.eos, "pad": ids.pad}
            return decode(model, prompt, Greedy(), max_new_tokens=NEW, **call).tokens[:, 0]

        found = jax.jit(answered)(model)
    wanted = REFERENCE[f"{name}/generated"]
    assert ids.eos in wanted
    np.testing.assert_array_equal(np.concatenate([prompt, found], axis=1), wanted)


def test_tokens_that_no_answer_has(tmp_path):
    """As the whole model chooses step by step among the others."""
    checkpoint = load(checkpoint_of("t5_1_1", tmp_path))
    model, never, source = checkpoint.build(), (5, 40), sources()[2:]
    written = [checkpoint.answers.start]
    for _ in range(4):
        logits = np.array(model(source, np.array([written]))[0, -1])
        logits[list(never)] = -np.inf
        written.append(int(logits.argmax()))
    call = {"memory": model.encode(source), "max_new_tokens": 4, "never": never}
    for decoding in (Greedy(), Beam(1)):
        found = decode(model, np.array([written[:1]]), decoding, **call)
        np.testing.assert_array_equal(found.tokens[0, 0], written[1:])
    with pytest.raises(ValueError, match=r"never = \(48,\) has 48, which a vocabulary of 48 lacks"):
        decode(model, np.array([[1]]), Greedy(), **call | {"never": (48,)})


def test_ids_that_a_config_leaves_out(tmp_path):
    unset = dict.fromkeys(("decoder_start_token_id", "pad_token_id"))
    assert load(checkpoint_of("umt5", tmp_path / "a")).answers == AnswerIds(0, 24, 0)
    assert load(checkpoint_of("t5", tmp_path / "b", **unset, eos_token_id=[5, 6])).answers == AnswerIds(1, 5, 0)
    assert load(checkpoint_of("llama", tmp_path / "c")).answers is None
    for changes, match in (
        ({"decoder_start_token_id": 48}, "config.json: decoder_start_token_id = 48 must be a token of the 48"),
        ({"bad_words_ids": [["a"]]}, "bad_words_ids: a word = 'a' must be a token of the 48"),
        (unset | {"bos_token_id": None}, "bos_token_id = None must be a token"),
    ):
        with pytest.raises(DataError, match=match):
            load(checkpoint_of("t5", tmp_path / "d", **changes))
