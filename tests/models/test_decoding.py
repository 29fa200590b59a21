"""Cached decoding equals the full pass, and greedy decoding a loop of full passes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoded_rows import Batch
from flax import nnx
from registry_slots import slots_of_tasks
from small_models import FAMILIES, VOCAB, Gate, LayerBias, LengthBias, Relations, Runs, jitted, random_tokens, small

from posenc_jax.encodings import Learned, Randomized, RoPE, Sinusoidal, elements
from posenc_jax.models import (
    Beam,
    Greedy,
    Sampling,
    Slots,
    Streams,
    Transformer,
    check_model,
    decode,
    greedy,
    model_dims,
)

pytestmark = pytest.mark.usefixtures("float64")

STREAMS = Streams(positions=jax.random.key(3))
SLOTS = [
    (),
    (Sinusoidal(), LayerBias()),
    (Randomized(40), Learned(), RoPE(), LengthBias(), Relations()),
    ((Randomized(40, per="example", redraw="layer"), RoPE()), (LengthBias(),)),
    ((Runs(), Learned(), RoPE(), Gate()), ()),
]


def decoder(kind, slot, **changes):
    cross = tuple(e for e in slot if not isinstance(e, (Learned, Sinusoidal)))
    return small(kind, Slots(slot, slot, cross), **changes)


def chunks(model, tokens, sizes, **arguments):
    """Logits of all tokens, put into a cache in chunks."""
    source = arguments.pop("source", None)
    memory = () if source is None else (jitted(model.encode)(source, streams=STREAMS),)
    extend = jitted(model.extend)
    cache, logits, start = model.new_cache(*tokens.shape), [], 0
    for size in sizes:
        here = slice(start, start + size)
        # A length is of the whole cache, all else of the chunk.
        of_chunk = {name: value if name == "length" else value[:, here] for name, value in arguments.items()}
        out, cache = extend(tokens[:, here], cache, *memory, streams=STREAMS, **of_chunk)
        logits.append(out)
        start += size
    return np.concatenate(logits, axis=1)


@pytest.mark.parametrize(
    ("kind", "slot"),
    [
        pytest.param("decoder_only", SLOTS[0], marks=pytest.mark.slow),
        pytest.param("decoder_only", SLOTS[2], marks=pytest.mark.slow),
        *(("decoder_only", slot) for slot in (SLOTS[1], *SLOTS[3:])),
        ("encoder_decoder", SLOTS[2]),
        pytest.param("encoder_decoder", SLOTS[4][0], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_prefill_in_chunks_and_single_steps_equal_the_full_pass(kind, slot):
    layers = 1 if kind == "encoder_decoder" else 2
    model = decoder(kind, slot, num_kv_heads=2, num_layers=layers)
    tokens, source = random_tokens(2, 8), random_tokens(2, 5, seed=1)
    more = {"source": source} if kind == "encoder_decoder" else {}
    full = jitted(model.__call__)(*more.values(), tokens, streams=STREAMS)
    np.testing.assert_allclose(chunks(model, tokens, (3, 3, 1, 1), **more), full, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("family", ["gptj", "olmo2", "gemma2", "gemma3"])
def test_steps_equal_the_full_pass_with_the_parts_of_released_models(family):
    model = decoder("decoder_only", (RoPE(), LengthBias()), **FAMILIES[family])
    tokens = random_tokens(2, 8)
    length = {"length": np.full((1,), 8, np.int32)}
    full = jitted(model.__call__)(tokens, streams=STREAMS, **length)
    np.testing.assert_allclose(chunks(model, tokens, (3, *[1] * 5), **length), full, rtol=1e-9, atol=1e-9)


def test_cache_keeps_positions_segments_and_padding():
    """Two packed sequences with padding between them, positions restarting, cut across the middle of a sequence; each
    has its own length, in the full pass unasked.
    """
    model = decoder("decoder_only", (RoPE(), LengthBias()), num_layers=1)
    tokens = random_tokens(2, 8)
    segments = np.array([[1, 1, 1, 0, 2, 2, 2, 2]] * 2, np.int32)
    positions = np.array([[0, 1, 2, 0, 5, 6, 7, 8]] * 2, np.int32)
    length = np.array([[3, 3, 3, 0, 4, 4, 4, 4]], np.int32)
    places = {"segment_ids": segments, "positions": positions}
    full = jitted(model.__call__)(tokens, **places)
    cached = chunks(model, tokens, (2, 2, 2, 2), length=length, **places)
    real = segments != 0
    np.testing.assert_allclose(cached[real], full[real], rtol=1e-9, atol=1e-9)
    first = jitted(model.__call__)(tokens[:, :3])
    np.testing.assert_allclose(full[:, :3], first, rtol=1e-9, atol=1e-9)


def test_a_cache_refuses_what_it_would_lose():
    model = decoder("decoder_only", ())
    tokens = random_tokens(1, 2)
    with pytest.raises(ValueError, match=r"this cache holds no token_types.*token_types=True"):
        model.extend(tokens, model.new_cache(1, 2), token_types=np.ones((1, 2), np.int32))
    with pytest.raises(ValueError, match=r"length has 2 values a row, and the cache 4 places: give one for each place"):
        model.extend(tokens, model.new_cache(1, 4), length=np.array([[2, 2]], np.int32))
    fractions = np.array([[0.0, 0.5]], np.float32)
    with pytest.raises(ValueError, match=r"float32 positions lose their fractions.*position_dtype=float32"):
        model.extend(tokens, model.new_cache(1, 2), positions=fractions)
    _, cache = jitted(model.extend)(
        tokens,
        model.new_cache(1, 2, token_types=True, position_dtype="float32"),
        token_types=np.ones((1, 2), np.int32),
        positions=fractions,
    )
    np.testing.assert_array_equal(cache.positions, fractions)
    np.testing.assert_array_equal(cache.token_types, [[1, 1]])


def test_bfloat16_models_have_bfloat16_caches():
    model = small("decoder_only", num_layers=1, dtype="bfloat16")
    assert {layer.keys.dtype for layer in model.new_cache(1, 4).layers} == {jnp.dtype("bfloat16")}
    _, cache = jitted(model.extend)(random_tokens(1, 2), model.new_cache(1, 4))
    assert {layer.values.dtype for layer in cache.layers} == {jnp.dtype("bfloat16")}
    assert int(cache.filled) == 2


WIDTH, NEW = 4, 18  # many tokens, as an argmax forgives small faults


def argmax_loop(run, prompt, eos):
    """One row by full passes, padded to one width, over ever longer sequences of known final length."""
    row, length = list(prompt), np.full((1,), len(prompt) + NEW, np.int32)
    while len(row) < len(prompt) + NEW:
        tokens = np.pad(row, (0, WIDTH + NEW - len(row)))[None].astype(np.int32)
        real = (np.arange(WIDTH + NEW) < len(row))[None].astype(np.int32)
        row.append(int(np.argmax(run(tokens, real, length)[0, len(row) - 1])))
    new = row[len(prompt) :]
    return new if eos not in new else new[: new.index(eos)] + [eos] * (NEW - new.index(eos))


@pytest.mark.parametrize(
    ("kind", "slot"),
    [
        ("decoder_only", SLOTS[1]),
        pytest.param("encoder_decoder", (Randomized(40), RoPE(), LengthBias()), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_greedy_is_a_loop_of_argmax(kind, slot):
    """Prompts of three lengths, padded on either side; rows that stop at eos and rows that do not."""
    model = decoder(kind, slot, num_layers=1)
    prompts = [random_tokens(n, seed=n) for n in (4, 2, 3)]
    padding = [(0, 0), (1, 1), (0, 1)]
    batch = np.stack([np.pad(p, sides) for p, sides in zip(prompts, padding, strict=True)])
    real = np.stack([np.pad(np.ones_like(p), sides) for p, sides in zip(prompts, padding, strict=True)])
    source = random_tokens(3, 5, seed=9)
    graph, state = nnx.split(model)

    @jax.jit
    def decode(state, eos):
        model = nnx.merge(graph, state)
        memory = model.encode(source, streams=STREAMS) if kind == "encoder_decoder" else None
        call = {"memory": memory, "segment_ids": real, "streams": STREAMS}
        return greedy(model, batch, max_new_tokens=NEW, eos=eos, **call)

    endless = np.asarray(decode(state, -2))
    eos = int(endless[0, 2])
    stopping = np.asarray(decode(state, eos))
    run = jitted(model.__call__)
    for row, prompt in enumerate(prompts):

        def call(tokens, real, length, row=row):
            if kind == "decoder_only":
                return run(tokens, segment_ids=real, length=length, streams=STREAMS)
            sides = {"decoder_segment_ids": real, "decoder_length": length}
            return run(source[row : row + 1], tokens, **sides, streams=STREAMS)

        assert argmax_loop(call, prompt, -2) == endless[row].tolist()
        assert argmax_loop(call, prompt, eos) == stopping[row].tolist()
    assert stopping[0, 2:].tolist() == [eos] * (NEW - 2)
    assert 0 <= endless.min() <= endless.max() < VOCAB


REGISTRY = {"nope": (), **slots_of_tasks(), "learned": (Learned(),)}
TYPED = {name for name, slot in REGISTRY.items() if any(element.needs_token_types for element in elements(slot))}
KINDS = ("decoder_only", "encoder_decoder")
# Positions in keys, values and gates, drawn ones, and those of types; prompts without padding and with it.
HANDFUL = [
    ("shaw", "encoder_decoder"),
    ("fox", "decoder_only"),
    ("randomized", "decoder_only"),
    ("within_section", "decoder_only"),
]
ALL = [(name, kind) for name in REGISTRY for kind in KINDS if kind == "decoder_only" or name not in TYPED]


@pytest.mark.parametrize(
    ("name", "kind"), HANDFUL + [pytest.param(*case, marks=pytest.mark.slow) for case in ALL if case not in HANDFUL]
)
def test_outputs_have_the_probability_that_a_full_pass_gives_them(name, kind):
    """Beams, whose caches are reordered, for every encoding: prompts without padding, and with it on either side."""
    slot = REGISTRY[name]
    if any("cached_decoding" in element.breaks for element in elements(slot)):
        pytest.skip(f"{name} declares that it breaks cached_decoding")
    model = small(kind, Slots(slot_of("encoder", slot), slot, slot_of("cross", slot)), num_layers=1, num_heads=2)
    padded = kind == "decoder_only" or name in ("nope", "shaw")
    batch = Batch(kind, padded=padded, typed=name in TYPED)
    decoded = batch.decoder(model, Beam(2))(7)
    np.testing.assert_allclose(decoded.log_probs, batch.of_outputs(model, decoded), rtol=1e-9)
    assert len({tuple(tokens) for tokens in decoded.tokens.reshape(6, -1)}) > 2


def slot_of(stack, slot):
    """The slot, or NoPE where the encoding cannot serve the stack."""
    config = Transformer(16, 1, 2)
    slots = Slots(**{stack: slot})
    try:
        check_model(
            "encoder_decoder", config, slots, model_dims(config, vocab_size=VOCAB, max_len=24), num_classes=VOCAB
        )
    except ValueError:
        return ()
    return slot


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.slow), "bfloat16"])
def test_settings_are_static_and_compile_once(dtype):
    with jax.enable_x64(False):
        model = small("decoder_only", Slots(decoder=(RoPE(),)), num_layers=1, num_heads=2, dtype=dtype)
        graph, state = nnx.split(model)
        traced = []

        def run(state, prompt, eos, key, decoding):
            traced.append(decoding)
            return decode(nnx.merge(graph, state), prompt, decoding, max_new_tokens=3, eos=eos, pad=9, key=key)

        run = jax.jit(run, static_argnames="decoding")
        for seed in (0, 1):
            for decoding in (Greedy(), Beam(2), Sampling(num_samples=2)):
                decoded = run(state, random_tokens(2, 3, seed=seed), seed, jax.random.key(seed), decoding)
                assert decoded.tokens.shape == (2, decoding.num_outputs, 3)
                assert decoded.scores.dtype == decoded.log_probs.dtype == jnp.float32
                assert np.isfinite(decoded.log_probs).all()
        assert traced == [Greedy(), Beam(2), Sampling(num_samples=2)]


def test_tokens_after_eos_are_padding():
    batch = Batch("decoder_only")
    model = small("decoder_only", num_layers=1, num_heads=2)
    endless = batch.decoder(model, Greedy(), pad=9)
    eos = int(endless().tokens[0, 0, 2])
    decoded = endless(eos)
    before = decoded.tokens[0, 0].tolist().index(eos) + 1
    assert decoded.lengths[0, 0] == before
    assert decoded.tokens[0, 0].tolist() == endless().tokens[0, 0, :before].tolist() + [9] * (6 - before)


def test_what_cannot_be_decoded():
    decoder_only, encoder_decoder = small("decoder_only", num_layers=1), small("encoder_decoder", num_layers=1)
    prompt, types = random_tokens(1, 2), np.ones((1, 2), np.int32)
    memory = jax.eval_shape(jitted(encoder_decoder.encode), prompt)
    for model, call, message in (
        (decoder_only, {"max_new_tokens": 0}, "max_new_tokens = 0 must be a whole number from 1 on"),
        (encoder_decoder, {}, r"an encoder-decoder decodes from its source: pass memory=model.encode"),
        (encoder_decoder, {"memory": memory, "token_types": types}, "an encoder-decoder has no token types: leave"),
        (decoder_only, {"memory": memory}, "attends to no memory: put the source into the prompt"),
    ):
        with pytest.raises(ValueError, match=message):
            decode(model, prompt, Greedy(), **{"max_new_tokens": 1} | call)
    with pytest.raises(ValueError, match="an unpadded cache places tokens itself: pass neither"):
        decoder_only.extend(prompt, decoder_only.new_cache(1, 2).unpadded(), segment_ids=types)
