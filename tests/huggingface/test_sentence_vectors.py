"""Encoders without a head give last states, and means of these are the vectors of sentences that people use."""

import jax
import numpy as np
import pytest
import tokenizers
from tiny_checkpoints import checkpoint_of

from posenc_jax.huggingface.checkpoint import load
from posenc_jax.models import Slots, Transformer, build
from posenc_jax.models.pooling import mean_of_real

states_of = jax.jit(lambda model, ids, real: model(ids, token_types=0 * ids, segment_ids=real))


def vectors_of(checkpoint, texts):
    """As the page has it."""
    model, words = checkpoint.build(), checkpoint.tokenizer
    rows = [[words.bos, *ids, words.eos] for ids in words.encode_all(texts)]
    tokens = np.array([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    real = (np.arange(tokens.shape[1]) < np.array([[len(row)] for row in rows])).astype(np.int32)
    means = mean_of_real(states_of(model, tokens, real), real)
    return means / np.linalg.norm(means, axis=-1, keepdims=True)


def test_vectors_of_texts_do_not_see_their_padding(tmp_path):
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "red": 4, "dog": 5}
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    path = checkpoint_of("bert_model", tmp_path, bos_token_id=None, eos_token_id=None)
    words.save(str(path / "tokenizer.json"))
    checkpoint = load(path)
    assert (checkpoint.tokenizer.bos, checkpoint.tokenizer.eos) == (2, 3)
    both = vectors_of(checkpoint, ["red dog red dog", "dog"])
    np.testing.assert_allclose(np.linalg.norm(both, axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(both[1:], vectors_of(checkpoint, ["dog"]), atol=1e-6)


def test_a_model_without_an_output_layer_is_an_encoder():
    key = jax.random.key(0)
    sizes = {"vocab_size": 8, "num_classes": None, "max_len": 8, "key": key, "posenc_key": key}
    config = Transformer(d_model=8, num_layers=1, num_heads=2, output_transform=True, pooling="mean")
    assert build("encoder_only", config, Slots(), **sizes)(np.zeros((2, 3), np.int32)).shape == (2, 8)
    with pytest.raises(ValueError, match="num_classes = None, no output layer, serves encoder_only; decoder_only"):
        build("decoder_only", Transformer(), Slots(), **sizes)
