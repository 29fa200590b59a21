"""Models take the path that their config names."""

import dataclasses

import jax
import numpy as np
import pytest

from posenc_jax.attention import blockwise
from posenc_jax.encodings import parse
from posenc_jax.models import Slots, Transformer, build

CONFIG = Transformer(d_model=16, num_layers=2, num_heads=2, head_dim=8)
SLOTS = Slots(encoder=parse("t5"), decoder=parse("rope|t5/shaw"), cross=parse("fire"))


def run(kind, config, *tokens, capture=False):
    def program(key, *tokens):
        model = build(
            kind, config, SLOTS, vocab_size=9, num_classes=9, max_len=16, key=key, posenc_key=jax.random.key(1)
        )
        return model(*tokens, capture=capture)

    return str(jax.make_jaxpr(program)(jax.random.key(0), *tokens)), jax.jit(program)(jax.random.key(0), *tokens)


@pytest.mark.parametrize("kind", ["decoder_only", pytest.param("encoder_decoder", marks=pytest.mark.slow)])
def test_a_model_in_blocks_is_the_model(kind, monkeypatch):
    monkeypatch.setattr(blockwise, "MOST", 4)
    tokens = np.random.default_rng(0).integers(1, 9, (2, 11)).astype(np.int32)
    tokens = (tokens,) if kind == "decoder_only" else (tokens, tokens[:, :7])
    text, want = run(kind, CONFIG, *tokens)
    assert "scan" not in text
    text, got = run(kind, dataclasses.replace(CONFIG, attention="blockwise"), *tokens)
    assert text.count("scan[") == (2 if kind == "decoder_only" else 6)
    # Nothing over all pairs, in particular no bias that the layers share.
    assert "11,11]" not in text
    np.testing.assert_allclose(got, want, atol=2e-5)


def test_weights_that_are_captured_are_those_of_the_dense_path():
    config = dataclasses.replace(CONFIG, attention="blockwise")
    tokens = np.ones((1, 11), np.int32)
    _, (_, captured) = run("decoder_only", config, tokens, capture=True)
    assert captured["decoder"]["layers"][1]["attention_weights"].shape == (1, 2, 11, 11)


def test_packed_rows_take_the_kernel_where_they_are_known_to_be_packed():
    """Two sequences a row, each with positions from 0; the kernel is interpreted here."""
    slots = Slots(decoder=parse("rope|t5"))
    positions = np.stack([np.r_[0:5, 0:6], np.r_[0:8, 0:3]]).astype(np.int32)
    segments = np.stack([np.r_[[1] * 5, [2] * 6], np.r_[[1] * 8, [2] * 3]]).astype(np.int32)
    tokens = np.random.default_rng(0).integers(1, 9, (2, 11)).astype(np.int32)

    def logits(attention, packed):
        config, key = dataclasses.replace(CONFIG, attention=attention), jax.random.key(0)
        model = build("decoder_only", config, slots, vocab_size=9, num_classes=9, max_len=16, key=key, posenc_key=key)
        return model(tokens, positions=positions, segment_ids=segments, packed=packed)

    want = logits("dense", False)
    for attention in ("dense", "causal", "blockwise", "kernel"):
        np.testing.assert_allclose(logits(attention, True), want, atol=2e-5, err_msg=attention)
    with pytest.raises(ValueError, match=r"bias of t5 needs plain positions that grow by one, from 0 in"):
        logits("kernel", False)
