"""A beam whose beginnings stand side by side in one cache, against one that copies them, and against each alone."""

import dataclasses

import numpy as np
import pytest
from decoded_rows import Batch
from small_models import FAMILIES, Gate, LayerBias, LengthBias, Relations, Runs, small

from posenc_jax.analysis.layer import DIMS, AttentionLayer, _attend, compiled, noise, seen_by
from posenc_jax.encodings import ALiBi, FoX, RoPE, Sinusoidal, T5Bias, embed, is_pattern, parse, token_terms
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.models import Beam, Slots, beam

pytestmark = pytest.mark.usefixtures("float64")

LAYERS = {
    layer
    for methods in CATALOGUE.values()
    for method in methods
    for slot in [parse(method.spec)]
    for layer in (slot if is_pattern(slot) else [slot])
    if layer
}
QUICK = [parse(text) for text in ("alibi", "rope", "shaw", "tapa")]
PAST, STEPS = 2, 3
# Of two continuations: whose tokens each goes on with at every step.
PARENTS = [(0, 0), (1, 0), (1, 1)]
PLACES = np.array([[*range(PAST), *(PAST + t for t in range(STEPS) for _ in range(2))]], np.int32)


def ancestors():
    """For the last token of each continuation, the tokens of its past and itself, in order."""
    found = []
    for n in range(2):
        line, own = [], n
        for step in reversed(range(STEPS)):
            line.append(PAST + 2 * step + own)
            own = PARENTS[step][own]
        found.append([*range(PAST), *reversed(line)])
    return found


@pytest.mark.parametrize(
    "encodings",
    [
        pytest.param(layer, marks=() if layer in QUICK else pytest.mark.slow)
        for layer in sorted(LAYERS, key=str)
        if all(e.by_pairs for e in layer)
    ],
    ids=str,
)
def test_side_by_side_a_continuation_is_what_it_is_alone(encodings):
    layer = AttentionLayer(encodings)
    x, length = noise(1, PLACES.shape[1], DIMS.d_model), np.array([PAST + STEPS], np.int32)
    whole = dataclasses.replace(layer.sequence(x, PLACES, np.ones_like(PLACES), length), places=PLACES)
    lines = ancestors()
    sees = np.zeros((1, 2, PLACES.shape[1]), bool)
    for n, line in enumerate(lines):
        sees[0, n, line] = True

    @compiled
    def both(params):
        embedded = embed(encodings, params, x, whole)
        last = dataclasses.replace(whole.part(slice(-2, None)), sees=sees)
        terms = token_terms(encodings, params, embedded, whole)
        heads = (layer.heads(embedded[:, -2:], 0), layer.heads(embedded, 1), layer.heads(embedded, 2))
        seen = seen_by(encodings, last, whole, True, layer.key)
        alone = []
        for line in lines:
            order = np.arange(len(line), dtype=np.int32)[None]
            tokens = layer.sequence(x[:, line], order, np.ones_like(order), length)
            alone.append(layer.plain(True, params, x[:, line], layer.key, tokens=tokens)[:, -1])
        return _attend(encodings, *heads, params, seen, terms), alone

    together, alone = both(layer.params)
    np.testing.assert_allclose(together[0], np.concatenate(alone), rtol=1e-9, atol=1e-9)


def test_who_depends_on_others_does_not_stand_side_by_side():
    by_pairs = {type(e).__name__: e.by_pairs for slot in LAYERS for e in slot}
    apart = {"FoX", "PaTH", "CoPE", "DAPE", "StickBreaking", "Abacus", "SelectiveRoPE", "ConvPosition"}
    assert apart <= by_pairs.keys()
    assert not any(by_pairs[name] for name in apart)


@pytest.mark.parametrize(
    ("kind", "slot", "padded", "fields"),
    [
        ("decoder_only", (RoPE(),), True, {}),
        pytest.param("decoder_only", (Sinusoidal(), T5Bias()), False, FAMILIES["gemma2"], marks=pytest.mark.slow),
        ("encoder_decoder", (ALiBi(), Relations(), Gate()), True, {"attention": "blockwise"}),
        pytest.param("decoder_only", ((RoPE(), LengthBias()), (LayerBias(),)), True, {}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_beam_in_place_is_the_one_that_copies(monkeypatch, kind, slot, padded, fields):
    model = small(kind, Slots((), slot, ()), num_layers=2, **fields)
    batch, found = Batch(kind, padded=padded), []
    for widest in (1, 3):
        monkeypatch.setattr(beam, "WIDEST", widest)
        assert beam.branches(model, Beam(3)) == widest
        run = batch.decoder(model, Beam(3), new=8)
        endless = run()
        found.append([endless, run(int(endless.tokens[0, 0, 2]))])
    for copied, in_place in zip(*found, strict=True):
        np.testing.assert_array_equal(in_place.tokens, copied.tokens)
        np.testing.assert_array_equal(in_place.lengths, copied.lengths)
        np.testing.assert_allclose(in_place.scores, copied.scores, rtol=1e-9)
    assert len({tuple(row) for row in found[0][0].tokens.reshape(-1, 8).tolist()}) > 3


@pytest.mark.parametrize("slot", [(FoX(),), (Runs(), RoPE()), ((RoPE(),), (FoX(),))], ids=str)
def test_a_beam_copies_where_a_mask_is_not_enough(slot):
    model = small("decoder_only", Slots((), slot, ()))
    assert beam.branches(model, Beam(3)) == 1
    assert beam.branches(small("decoder_only", Slots((), (RoPE(),), ())), Beam(beam.WIDEST + 1)) == 1
