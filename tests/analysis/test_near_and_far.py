"""Inversion and alias against published first numbers, brute force, and integrals of the characteristic function."""

import jax
import numpy as np
import pytest

from posenc_jax.analysis.near_and_far import (
    ERROR,
    HeadContents,
    alias,
    draws_for,
    inversion,
    inversion_of,
    predicted,
    two_distances,
)
from posenc_jax.encodings import Dims, Llama3, parse, vaswani_frequencies

LENGTHS = (512, 8192, 131_072, 1_048_576)
FREQUENCIES = {
    "1e4": vaswani_frequencies(128),
    "5e5": vaswani_frequencies(128, 5e5),
    "1e6": vaswani_frequencies(128, 1e6),
    "llama3": Llama3().frequencies(5e5, 128),
}
FIRST_LOOK = {
    "1e4": (0.246, 0.295, 0.501, 0.503),
    "5e5": (0.267, 0.309, 0.330, 0.397),
    "1e6": (0.275, 0.310, 0.328, 0.362),
    "llama3": (0.283, 0.400, 0.315, 0.320),
}
"""Of 20,000 pairs each, by another program: a standard error of 0.003."""
DIMS = Dims(512, 4, 4, 128, 1, 4096)


@pytest.mark.parametrize("name", FIRST_LOOK)
def test_a_first_look_by_another_program_is_met(name):
    for length, theirs in zip(LENGTHS, FIRST_LOOK[name], strict=True):
        ours = inversion(FREQUENCIES[name], length, error=0.003)
        assert ours.error <= 0.003
        assert abs(ours.value - theirs) < 3.5 * np.hypot(0.003, 0.003), (name, length)


def characteristic(frequencies, length, pairs):
    """The chance by Gil-Pelaez's integral, ``1/2 + 1/pi int Im prod_j (1 - 2i t c_j)^-1 dt / t``, of the same pairs."""
    k = np.arange(pairs)
    both = np.sort([k * length // pairs, k * 0.6180339887498949 % 1 * length // 1], axis=0)
    near, far = both[:, both[0] < both[1]]
    c = np.cos(np.outer(far, frequencies)) - np.cos(np.outer(near, frequencies))
    c /= np.sqrt((c**2).sum(1, keepdims=True))
    step = 0.02
    t = (np.arange(400) + 0.5) * step
    terms = np.prod(1 / (1 - 2j * t[:, None] * c[:, None]), axis=2).imag / t
    return float((0.5 + terms.sum(1) * step / np.pi).mean())


@pytest.mark.parametrize(("name", "length"), [("1e4", 512), ("1e4", 131_072), ("5e5", 8192), ("llama3", 8192)])
def test_the_prediction_is_that_of_the_characteristic_function(name, length):
    ours = predicted(FREQUENCIES[name], length, pairs=500)
    exact = characteristic(FREQUENCIES[name], length, 500)
    assert abs(ours.value - exact) < ours.error
    measured = inversion(FREQUENCIES[name], length)
    assert abs(predicted(FREQUENCIES[name], length).value - measured.value) < ours.error + 3 * ERROR


def test_a_half_needs_that_all_planes_have_turned():
    longest = 2 * np.pi / FREQUENCIES["1e4"].min()
    assert predicted(FREQUENCIES["1e4"], int(longest / 4)).value < 0.4
    assert abs(predicted(FREQUENCIES["1e4"], int(longest * 4)).value - 0.5) < 0.01


def test_independent_contents_and_planes_that_do_not_turn_are_a_coin():
    assert abs(inversion(FREQUENCIES["1e4"], 512, "independent").value - 0.5) < 3 * ERROR
    assert inversion(np.zeros(4), 512).value == 0.5
    assert predicted(np.zeros(4), 512).value == 0.5


def test_distances_are_two_uniform_ones_of_a_ratio():
    near, far = two_distances(np.random.default_rng(0), 10, draws_for(0.003))
    assert (near < far).all()
    counts = np.bincount(10 * near + far, minlength=100).reshape(10, 10)[np.triu_indices(10, 1)]
    assert abs(counts / len(near) * 45 - 1).max() < 0.15
    near, far = two_distances(np.random.default_rng(0), 1000, 500, 8)
    assert (far >= 8 * near).all()
    assert len(near) == 500
    with pytest.raises(ValueError, match="length = 1 must be at least 2"):
        two_distances(np.random.default_rng(0), 1, 5)


def test_an_alias_is_that_of_strangers_drawn_one_by_one():
    frequencies, length, window = vaswani_frequencies(16), 1000, 12
    generator = np.random.default_rng(1)
    lost = 0
    for _ in range(4000):
        q = generator.normal(size=8) + 1j * generator.normal(size=8)
        keys = generator.normal(size=(window, 8)) + 1j * generator.normal(size=(window, 8))
        keys[0] = q
        at = generator.integers(length, size=window)
        scores = (q * keys.conj() * np.exp(1j * np.outer(at, frequencies))).real.sum(1)
        lost += scores.argmax() > 0
    assert abs(alias(frequencies, length, window=window).value - lost / 4000) < 4 * 0.5 / np.sqrt(4000)


def test_a_heads_own_contents_are_used():
    """One key as its query, and one that is opposite: it is never the best, and falls with distance the other way."""
    queries = np.ones((1, 2), complex)
    keys = np.array([[1, 1], [-1, -1]], complex)
    slow = np.full(2, 1e-6)
    assert inversion(slow, 1000, HeadContents(queries, keys, np.array([0]))).value == 0
    assert inversion(slow, 1000, HeadContents(queries, keys, np.array([1]))).value == 1
    assert alias(slow, 1000, HeadContents(queries, keys, np.array([0])), window=2).value == 0
    assert alias(slow, 1000, HeadContents(queries, keys, np.array([1])), window=2).value == 1


def test_hooks_say_what_frequencies_say():
    for text in ("rope", "rope(base=5e5, scaling=llama3)"):
        frequencies = parse(text)[0].frequencies_for(DIMS)
        ours, theirs = inversion_of(parse(text), DIMS, 4096), inversion(frequencies, 4096, seed=1)
        assert abs(ours.value - theirs.value) < 3 * np.hypot(ours.error, theirs.error)
    assert inversion_of(parse("alibi"), DIMS, 4096).value == 0
    assert inversion_of((), DIMS, 4096).value == 0.5
    assert inversion_of(parse("rope/nope"), DIMS, 4096, layer=1).value == 0.5


@pytest.mark.slow
def test_the_error_counts_pairs_of_distances_which_heads_share():
    found = [inversion_of(parse("rope"), DIMS, 512, error=0.05, seed=seed) for seed in range(160)]
    errors = [one.error for one in found]
    assert max(errors) <= 0.05
    assert np.std([one.value for one in found]) / np.mean(errors) == pytest.approx(1, abs=0.2)


def test_absolute_vectors_are_added_to_contents():
    found = inversion_of(parse("sinusoidal"), Dims(8, 1, 1, 8, 1, 100), 100)
    generator, wins = np.random.default_rng(5), 0.0
    vectors = np.concatenate([f(np.outer(np.arange(100), vaswani_frequencies(8))) for f in (np.sin, np.cos)], axis=1)
    for _ in range(10_000):
        near, far = np.sort(generator.choice(100, 2, replace=False))
        x = generator.normal(size=8)
        query = x + vectors[99]
        wins += query @ (x + vectors[99 - far]) > query @ (x + vectors[99 - near])
    assert abs(found.value - wins / 10_000) < 4 * np.hypot(found.error, 0.005)


@pytest.mark.parametrize("text", ["stick_breaking", "conv_position(kernel=8)"])
def test_what_reads_the_tokens_between_is_refused(text):
    with pytest.raises(ValueError, match="weighs two keys by the tokens around them"):
        inversion_of(parse(text), DIMS, 64)


@pytest.mark.parametrize("text", ["fox", "grid(width=8)|axial_rope", "attributes|rope"])
def test_what_has_no_distance_is_refused(text):
    with pytest.raises(ValueError, match="reads more of a token than its place"):
        inversion_of(parse(text), DIMS, 64)


def test_float32_is_not_enough_and_not_used():
    """Neighbours a million away differ in the last digits of float32 angles; here they do not tie."""
    assert not jax.config.jax_enable_x64
    assert inversion_of(parse("rope(base=1e8)"), DIMS, 2**20).value < 0.4
