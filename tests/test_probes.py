"""Probes on planted activations, and the same content moved in small random models."""

import math
from statistics import NormalDist

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.periodicity.probes import (
    check_change,
    compare,
    examples_needed,
    name_positions,
    separate,
)
from posenc_jax.encodings import ALiBi, Learned, RoPE, Shaw, Sinusoidal, T5Bias
from posenc_jax.models import Slots, Transformer, build
from posenc_jax.statistics import wilson

PHI = NormalDist().cdf


def clouds(margin, *, contents=4000, width=6, seed=0):
    """Two clouds with a full covariance, their means ``margin`` apart in its metric."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(width, width))
    step = np.zeros(width)
    step[0] = margin
    a, b = rng.normal(size=(2, contents, width))
    return (a + step) @ mixing + 3, b @ mixing + 3


@pytest.mark.parametrize("margin", [1.0, 3.0])
def test_separates_as_well_as_can_be(margin):
    found = separate(*clouds(margin))
    assert found.trials == 1000
    assert found.low < PHI(margin / 2) < found.high
    assert found.margin == pytest.approx(margin, rel=0.1)


def test_equal_positions_are_told_apart_by_chance_only():
    inside = []
    for seed in range(40):
        found = separate(*clouds(0.0, contents=400, seed=seed))
        inside.append(found.low <= 0.5 <= found.high)
    assert sum(inside) >= 34  # of 40 intervals of 95 %; fewer than 34 happens once in 3000 times


@pytest.mark.parametrize("contents", [12, 13])
def test_nothing_is_learned_from_the_held_out(contents):
    """Labels that only the held-out part has: a probe that saw it would be right there."""
    width = 4
    a = np.random.default_rng(2).normal(size=(contents, width))
    b = a.copy()  # in training nothing tells them apart
    cut = int(contents * 0.75)
    a[cut:, 0] += 1e6
    b[cut:, 0] -= 1e6
    found = separate(a, b)
    assert found.accuracy == 0.5
    assert found.trials == contents - cut  # each held-out content is asked once
    named = name_positions(np.stack([a, b], axis=1))
    np.testing.assert_array_equal(named.confusion, [[1, 0], [1, 0]])


def test_nothing_varies_and_nothing_differs():
    same = np.ones((8, 3))
    assert separate(same, same).accuracy == 0.5
    assert separate(same, same).margin == 0
    exact = separate(same + 1, same)
    assert (exact.accuracy, exact.margin) == (1.0, math.inf)


def test_names_positions_and_confuses_those_that_are_alike():
    """16 positions on a circle of 8 places: each is named as itself or as the one 8 further."""
    rng = np.random.default_rng(4)
    angles = 2 * np.pi * np.arange(16) / 8
    places = np.stack([np.cos(angles), np.sin(angles)], -1)
    found = name_positions(places[None] + 0.02 * rng.normal(size=(800, 16, 2)))
    assert found.trials == 200 * 16
    assert found.accuracy == pytest.approx(0.5, abs=0.04)  # 4.5 standard deviations of 3200 guesses
    assert found.at_offset(0) == found.accuracy
    assert found.at_offset(8) + found.at_offset(-8) == pytest.approx(1, abs=0.1)
    assert found.at_offset(7) == found.at_offset(1) == 0
    np.testing.assert_allclose(found.confusion.sum(1), 1)


def test_wilson_is_the_published_interval():
    """Newcombe 1998, Statistics in Medicine 17, table I, method 3."""
    for successes, trials, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611)):
        assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: separate(np.ones((4, 2)), np.ones((4, 3))), "must have the same contents and width"),
        (lambda: separate(*clouds(1.0, contents=6)), "6 contents are too few for a probe over 6 dimensions"),
        (lambda: name_positions(np.ones((8, 3, 2))).at_offset(3), "offset 3 does not occur among 3 positions"),
        (lambda: examples_needed(8, 0.0), "margin 0.0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


CONFIG = Transformer(d_model=16, num_layers=2, num_heads=2)
TOKENS = np.random.default_rng(6).integers(0, 11, size=(3, 7)).astype(np.int32)
REAL = np.array([[1] * 7, [1] * 5 + [0] * 2, [1] * 7], np.int32)


def model_with(*posenc, kind="encoder_only", max_len=20, config=CONFIG):
    slots = Slots(encoder=posenc, decoder=posenc)
    sizes = {"vocab_size": 11, "num_classes": 11, "max_len": max_len}
    return build(kind, config, slots, **sizes, key=jax.random.key(0), posenc_key=jax.random.key(1))


def at(model, *starts):
    """What the model gives with its inputs at each start: one program for all."""

    @jax.jit
    def call(start):
        return model(TOKENS, positions=(start + jnp.arange(7))[None], segment_ids=REAL, capture=True)

    return [call(start) for start in starts]


@pytest.mark.parametrize(
    ("kind", "encodings"),
    [("encoder_only", (e,)) for e in (RoPE(), ALiBi(), T5Bias(), Shaw(4))]
    + [("encoder_only", ()), ("decoder_only", (RoPE(),))],
    ids=lambda value: value if isinstance(value, str) else "|".join(e.name for e in value) or "nope",
)
def test_a_move_changes_nothing_where_only_distances_count(kind, encodings):
    model = model_with(*encodings, kind=kind)
    change = compare(*at(model, 5, 68), {kind.removesuffix("_only"): REAL})
    assert change.kl.shape == (3,)
    (maps,) = change.attention.values()
    assert maps.shape == (3, 2, 2)
    assert np.abs(change.largest).max() < 1e-5
    assert np.abs(change.kl).max() < 1e-10
    assert maps.max() < 1e-6
    assert not np.asarray(change.argmax).any()


def test_a_move_of_sinusoidal_positions_is_measured():
    """Against the definitions, in loops in float64, over the real tokens only."""
    model = model_with(Sinusoidal())
    first, second = at(model, 5, 11)
    change = compare(first, second, {"encoder": REAL})
    old, new = (np.asarray(call[0], np.float64) for call in (first, second))
    for row in range(3):
        kl, other, tokens = 0.0, 0, int(REAL[row].sum())
        for slot in range(tokens):
            p, q = (np.exp(x[row, slot]) / np.exp(x[row, slot]).sum() for x in (old, new))
            kl += (p * np.log(p / q)).sum() / tokens
            other += int(p.argmax() != q.argmax())
        assert kl > 1e-4
        assert change.kl[row] == pytest.approx(kl, rel=1e-3)
        assert change.argmax[row] == pytest.approx(other / tokens)
        for layer in range(2):
            w, v = (np.asarray(c[1]["encoder"]["layers"][layer]["attention_weights"][row]) for c in (first, second))
            for head in range(2):
                distance = sum(np.abs(w[head, i] - v[head, i]).sum() / 2 for i in range(tokens)) / tokens
                assert distance > 1e-3
                assert change.attention["encoder"][row, layer, head] == pytest.approx(distance, rel=1e-4)


def test_positions_beyond_a_learned_table_are_found_out():
    model = model_with(Learned(), max_len=20)
    home, last, beyond = at(model, 5, 13, 14)
    check_change(compare(home, last, {"encoder": REAL}))
    beyond = compare(home, beyond, {"encoder": REAL})
    with pytest.raises(ValueError, match="keep start \\+ tokens within its rows"):
        check_change(beyond)
    with pytest.raises(ValueError, match="position 20 is outside the learned table of 20 rows"):
        model(TOKENS, positions=np.arange(14, 21)[None], capture=True)
