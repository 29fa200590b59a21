"""What models are given: tokens outside the vocabulary, arrays of other tokens, caches of other calls."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_models import VOCAB, Gate, jitted, random_tokens, small

from posenc_jax.encodings import parse
from posenc_jax.models import Beam, Greedy, Sampling, Slots, Streams, Transformer, build, decode
from posenc_jax.models.embedding import of_vocabulary

KINDS = ("decoder_only", "encoder_only", "encoder_decoder")
TOKENS = random_tokens(2, 5)
LONGER = np.array([9, 3], np.int32)


def arguments(kind, tokens):
    return (TOKENS, tokens) if kind == "encoder_decoder" else (tokens,)


def with_last(last, rows=(0,)):
    tokens = TOKENS.copy()
    tokens[list(rows), -1] = last
    return tokens


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_outside_the_vocabulary_are_refused_or_nan(kind):
    model = small(kind)
    run = jitted(model.__call__)
    for outside in (VOCAB, 99, -1, -VOCAB):
        tokens = with_last(outside)
        found = np.asarray(run(*arguments(kind, tokens)))
        assert np.isnan(found[0, -1]).all(), outside
        assert np.isfinite(found[1]).all()  # the other row
        with pytest.raises(ValueError, match=rf"token id {outside} is outside a vocabulary of {VOCAB} \(0 \.\. 10\)"):
            jax.eval_shape(lambda tokens=tokens: model(*arguments(kind, tokens)))
    assert np.isfinite(run(*arguments(kind, with_last(VOCAB - 1)))).all()


def test_a_key_of_a_model_is_one_key():
    """When it is built, in training, and where tokens are drawn."""
    config, one = Transformer(d_model=16, num_layers=1, num_heads=4, mlp_dim=24), jax.random.key(0)
    sizes = {"vocab_size": VOCAB, "num_classes": VOCAB, "max_len": 8}
    model = small("decoder_only", Slots(decoder=parse("randomized|rope")), num_layers=1, dropout=0.5)
    for key in (42, "text", jax.random.split(one, 2)):
        for call in (
            lambda key=key: build("decoder_only", config, Slots(), **sizes, key=key, posenc_key=one),
            lambda key=key: build("decoder_only", config, Slots(), **sizes, key=one, posenc_key=key),
            lambda key=key: model(TOKENS, train=True, streams=Streams(dropout=key, positions=one)),
            lambda key=key: model(TOKENS, train=True, streams=Streams(dropout=one, positions=key)),
            lambda key=key: decode(
                model, TOKENS, Sampling(), max_new_tokens=1, key=key, streams=Streams(positions=one)
            ),
        ):
            with pytest.raises(
                ValueError, match=r"^(posenc_)?key = .* must be one key: pass jax.random.key\(seed\), or"
            ):
                call()


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_of_padding_are_not_read(kind):
    model, segments = small(kind), np.array([[1, 1, 1, 1, 0]] * 2)
    name = "decoder_segment_ids" if kind == "encoder_decoder" else "segment_ids"
    run = jitted(model.__call__)
    want = run(*arguments(kind, with_last(0, (0, 1))), **{name: segments})
    for known in (True, False):
        call = (lambda *x: model(*x, **{name: segments})) if known else (lambda *x: run(*x, **{name: segments}))
        got = call(*arguments(kind, with_last(-100, (0, 1))))
        np.testing.assert_allclose(got[:, :4], want[:, :4], atol=1e-6)
    with pytest.raises(ValueError, match=r"token id 12 is outside"):
        of_vocabulary(np.array([[-100, 12]]), VOCAB, np.array([[0, 1]]))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tokens", TOKENS * 1.0, r"tokens is of float64, and token ids are integers"),
        ("tokens", TOKENS[0], r"tokens has the shape \[5\], and token ids are \[batch, sequence\]"),
        ("tokens", TOKENS[:0], r"tokens has the shape \[0, 5\]: give one row and one token at least"),
        ("positions", np.arange(4)[None], r"tokens has 5 tokens and positions 4"),
        ("segment_ids", np.ones((3, 5), int), r"segment_ids has 3 rows|tokens has 2 rows and segment_ids 3"),
        ("length", np.array([5.0]), r"length is of float64, and lengths are integers"),
    ],
)
@pytest.mark.parametrize("kind", ["decoder_only", "encoder_decoder"])
def test_arrays_of_other_tokens_or_numbers_are_refused(kind, name, value, message):
    model = small(kind)
    tokens = value if name == "tokens" else TOKENS
    given = {} if name == "tokens" else {name: value}
    call = (tokens, TOKENS) if kind == "encoder_decoder" else (tokens,)
    with pytest.raises(ValueError, match=message):
        jax.eval_shape(lambda: model(*call, **given))


def test_a_length_counts_tokens_that_an_encoder_has():
    """A decoder's may count those that are still to come."""
    for kind in KINDS:
        call = functools.partial(jax.eval_shape, lambda kind=kind: small(kind)(*arguments(kind, TOKENS), length=LONGER))
        if kind == "decoder_only":
            call()
            continue
        with pytest.raises(ValueError, match=r"length has 9, and an encoder's 5 tokens are all that there are: count"):
            call()


def test_both_sides_have_the_same_rows():
    model = small("encoder_decoder")
    with pytest.raises(ValueError, match=r"decoder_tokens has 1 rows and tokens 2"):
        jax.eval_shape(lambda: model(TOKENS, TOKENS[:1]))
    cache = model.new_cache(1, 4)
    memory = jax.eval_shape(lambda: model.encode(jnp.asarray(TOKENS)))
    with pytest.raises(ValueError, match=r"tokens has 1 rows and the memory 2"):
        jax.eval_shape(lambda memory: model.extend(TOKENS[:1], cache, memory), memory)


def test_a_cache_of_another_call_is_refused():
    model = small("decoder_only")
    for cache, tokens, message in (
        (model.new_cache(3, 8), TOKENS, r"tokens has 2 rows and the cache 3"),
        (model.new_cache(2, 4), TOKENS, r"a cache of 4 places has arrays of shape \[2, 4\], .* has \[2, 5\]"),
        (small("decoder_only", num_layers=3).new_cache(2, 8), TOKENS, r"a cache of 3 layers, and the model has 2"),
        (small("decoder_only", num_kv_heads=2).new_cache(2, 8), TOKENS, r"shape \[2, 2, 8, 4\], .* has \[2, 4, 5, 4\]"),
    ):
        with pytest.raises(ValueError, match=message):
            jax.eval_shape(lambda cache=cache, tokens=tokens: model.extend(tokens, cache))
    with pytest.raises(ValueError, match=r"capacity = 4.0 must be a whole number from 1 on"):
        model.new_cache(2, 4.0)


@pytest.mark.parametrize("slots", [Slots(), Slots(decoder=(Gate(),))], ids=["nope", "gate"])
def test_tokens_that_a_cache_has_no_room_for_are_nan(slots):
    """They overwrote the last ones."""
    model = small("decoder_only", slots)
    extend = jitted(model.extend)
    first, cache = extend(TOKENS[:, :4], model.new_cache(2, 5))
    fits, cache = extend(TOKENS[:, 4:], cache)
    over, _ = extend(TOKENS[:, :1], cache)
    assert np.isfinite(first).all()
    assert np.isfinite(fits).all()
    assert np.isnan(over).all()


@pytest.mark.parametrize("decoding", [Greedy(), Beam(2), Sampling(num_samples=2)], ids=["greedy", "beam", "sampling"])
def test_a_prompt_outside_the_vocabulary_decodes_to_nothing(decoding):
    model = small("decoder_only", Slots(decoder=parse("rope")))

    def decoded(prompt):
        return decode(model, prompt, decoding, max_new_tokens=3, pad=7, key=jax.random.key(0))

    good, bad = (jax.jit(decoded)(prompt) for prompt in (TOKENS, with_last(VOCAB)))
    assert (np.asarray(bad.lengths[0]) == 0).all()
    assert (np.asarray(bad.tokens[0]) == 7).all()
    assert not np.isfinite(np.asarray(bad.log_probs[0])).any()
    for name in ("tokens", "lengths", "log_probs"):  # the other row
        np.testing.assert_array_equal(getattr(good, name)[1], getattr(bad, name)[1])
    with pytest.raises(ValueError, match=r"token id 11 is outside a vocabulary of 11"):
        decoded(with_last(VOCAB))
    with pytest.raises(ValueError, match=r"eos = 11 is outside a vocabulary of 11 .*None for no end"):
        decode(model, TOKENS, decoding, max_new_tokens=3, eos=VOCAB)


def test_types_outside_their_table_are_nan():
    model = small("decoder_only", token_types=3)
    types = np.array([[0, 1, 2, 1, 3], [0, 1, 2, 1, 2]])
    found = jitted(model.__call__)(TOKENS, token_types=types)
    assert np.isnan(found[0, -1]).all()
    assert np.isfinite(found[1]).all()


@pytest.mark.parametrize(
    ("kind", "method", "name"),
    [
        ("decoder_only", "__call__", "outline"),
        ("encoder_only", "__call__", "packed"),
        ("encoder_decoder", "encode", "token_types"),
    ],
)
def test_what_a_call_does_not_read_is_no_argument(kind, method, name):
    reads = r"which reads (attributes, )?example_ids, length"
    with pytest.raises(TypeError, match=f"{name} is no argument of this call, {reads}"):
        getattr(small(kind), method)(TOKENS, **{name: None})
