"""Dropout: where it acts, how often, and that its masks do not depend on how a batch is split."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import jitted, random_tokens, small

from posenc_jax.encodings import Randomized, RoPE
from posenc_jax.models import Slots, Streams
from posenc_jax.models.randomness import Dropout

STREAMS = Streams(dropout=jax.random.key(0), positions=jax.random.key(1))


def test_masks_have_the_rate_and_keep_the_mean():
    x = jnp.ones((16, 32, 64))
    dropout = Dropout.of_call(0.25, STREAMS, None, True, "encoder")
    out = np.asarray(dropout(x, 0))
    kept = out != 0
    # 32768 draws: five standard deviations of the rate are 0.012.
    np.testing.assert_allclose(kept.mean(), 0.75, atol=0.012)
    np.testing.assert_allclose(out[kept], 1 / 0.75, rtol=1e-6)
    others = (
        Dropout.of_call(0.25, STREAMS, None, True, "decoder")(x, 0),
        dropout(x, 1),
        Dropout.of_call(0.25, STREAMS, jnp.arange(16) + 1, True, "encoder")(x, 0),
    )
    for other in others:  # independent masks agree in 0.75^2 + 0.25^2 of the places
        np.testing.assert_allclose((kept == (np.asarray(other) != 0)).mean(), 0.625, atol=0.014)
    np.testing.assert_array_equal(np.asarray(others[2])[:-1] != 0, kept[1:])


@pytest.mark.parametrize("kind", ["decoder_only", pytest.param("encoder_decoder", marks=pytest.mark.slow)])
def test_two_halves_draw_what_the_whole_batch_draws(kind):
    drawn = (Randomized(40, per="example"), RoPE())
    model = small(kind, Slots(decoder=drawn, cross=drawn), num_layers=1, dropout=0.3)
    run = jitted(model.__call__, train=True)
    tokens = (random_tokens(6, 5),) * (2 if kind == "encoder_decoder" else 1)
    ids = np.arange(6)
    whole = jitted(model.__call__, train=True)(*tokens, streams=STREAMS)
    for part in (slice(0, 3), slice(3, 6)):
        half = run(*(t[part] for t in tokens), streams=STREAMS, example_ids=ids[part])
        np.testing.assert_allclose(half, whole[part], rtol=1e-4, atol=1e-4)
        assert np.abs(run(*(t[part] for t in tokens), streams=STREAMS, example_ids=ids[part] + 9) - half).max() > 0.1


def test_dropout_acts_after_embeddings_and_sublayers_in_training_only():
    model = small("decoder_only", dropout=0.5)
    tokens = random_tokens(2, 5)
    _, trained = jitted(model.__call__, train=True, capture=True)(tokens, streams=STREAMS)
    logits, evaluated = jitted(model.__call__, capture=True)(tokens, streams=STREAMS)
    plain, _ = jitted(small("decoder_only").__call__, capture=True)(tokens)
    np.testing.assert_array_equal(logits, plain)
    assert 0.3 < np.mean(trained["decoder"]["embeddings"] == 0) < 0.7
    assert np.mean(evaluated["decoder"]["embeddings"] == 0) == 0
    before, dropped = trained["decoder"]["embeddings"], []
    for layer in trained["decoder"]["layers"]:
        # Where both sub-layers were dropped the residual stream passes unchanged.
        dropped.append(np.asarray(layer["output"] == before))
        assert 0.1 < np.mean(dropped[-1]) < 0.4
        attended, fed = 2 * layer["attention_output"], 2 * layer["mlp_output"]
        candidates = np.stack([before, before + attended, before + fed, before + attended + fed])
        assert np.all(np.abs(candidates - np.asarray(layer["output"])).min(axis=0) < 1e-4)
        before = layer["output"]
    assert np.mean(dropped[0] & dropped[1]) < 0.15  # 1/16 if layers draw masks of their own, else 1/4


def test_masks_that_are_drawn_at_once_are_those_of_each_site():
    x = jnp.ones((3, 5, 8))
    dropout = Dropout.of_call(0.4, STREAMS, jnp.asarray([4, 0, 7]), True, "decoder")
    drawn = dropout.drawn(x, (0, 1, 6))
    assert list(drawn.masks) == [0, 1, 6]
    for site in (0, 1, 6, 9):
        np.testing.assert_array_equal(drawn(x, site), dropout(x, site))


@pytest.mark.parametrize(("remat", "loops"), [("none", 1), ("layers", 0)])
def test_a_model_draws_the_masks_of_a_stack_in_one_loop(remat, loops):
    """But where layers are computed again, which would hold them all."""
    model = small("encoder_only", num_layers=2, dropout=0.5, remat=remat)
    tokens = random_tokens(2, 5)
    program = str(jax.make_jaxpr(lambda key: model(tokens, streams=Streams(dropout=key), train=True))(STREAMS.dropout))
    assert program.count("scan[") == loops
