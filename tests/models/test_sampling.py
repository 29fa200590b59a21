"""Sampling: what is drawn from, how often, and that a row's draws are its own."""

import itertools

import jax
import numpy as np
import pytest
from decoded_rows import Batch
from scipy import stats
from small_models import small

from posenc_jax.encodings import RoPE
from posenc_jax.models import Sampling, Slots, decode
from posenc_jax.models.decoding import candidates

ROPE = Slots((RoPE(),), (RoPE(),), ())
KEY = jax.random.key(11)


def allowed(sampling, logits):
    """``{token: probability}`` for one row of logits, by sorting."""
    scaled = np.asarray(logits, np.float64) / sampling.temperature
    probs = np.exp(scaled - scaled.max())
    kept = sorted(range(len(probs)), key=lambda v: -probs[v])[: sampling.top_k]
    probs = {v: probs[v] / sum(probs[u] for u in kept) for v in kept}
    mass, nucleus = 0.0, []
    for v in kept:
        if mass < (1.0 if sampling.top_p is None else sampling.top_p):
            nucleus.append(v)
        mass += probs[v]
    return {v: probs[v] / sum(probs[u] for u in nucleus) for v in nucleus}


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_candidates_are_the_most_probable(dtype):
    with jax.enable_x64(dtype == "float64"):
        logits = np.random.default_rng(0).normal(0, 2, (40, 30)).astype(dtype)
        settings = [
            Sampling(top_k=k, top_p=p, temperature=t)
            for (k, p), t in itertools.product([(None, 0.05), (None, 0.9), (4, None), (99, 0.5), (1, 0.9)], (0.5, 1.7))
        ]
        sizes = set()
        for sampling in settings:
            tokens, kept = (None if x is None else np.asarray(x) for x in candidates(sampling, logits))
            assert kept.dtype == dtype
            for row in range(40):
                expected = allowed(sampling, logits[row])
                finite = np.flatnonzero(np.isfinite(kept[row]))
                found = finite if tokens is None else tokens[row, finite]
                assert set(found.tolist()) == set(expected)
                weights = np.exp(kept[row, finite].astype(np.float64))
                np.testing.assert_allclose(weights / weights.sum(), [expected[v] for v in found], rtol=2e-5)
                sizes.add(len(found))
        assert len(sizes) > 8


def test_a_nucleus_is_never_empty_and_takes_equals_together():
    logits = np.log(np.array([[0.25, 0.25, 0.25, 0.25], [0.997, 0.001, 0.001, 0.001]], np.float32))
    for p, expected in ((1e-7, [4, 1]), (0.6, [4, 1]), (0.9985, [4, 4])):
        _, kept = candidates(Sampling(top_p=p), logits)
        assert np.isfinite(kept).sum(axis=1).tolist() == expected


@pytest.mark.usefixtures("float64")
def test_draws_depend_on_the_example_and_the_sample_only():
    batch = Batch("encoder_decoder")
    model = small("encoder_decoder", ROPE, num_layers=1, num_heads=2)
    all_rows = batch.decoder(model, Sampling(num_samples=3, top_p=0.95), new=10, key=KEY)(1)
    some = batch.decoder(model, Sampling(num_samples=2, top_p=0.95), new=10, key=KEY, rows=[2, 0])(1)
    np.testing.assert_array_equal(some.tokens, all_rows.tokens[[2, 0], :2])
    np.testing.assert_allclose(some.log_probs, all_rows.log_probs[[2, 0], :2], rtol=1e-12)
    assert len({tuple(t) for t in all_rows.tokens.reshape(9, -1)}) == 9
    np.testing.assert_allclose(all_rows.log_probs, batch.of_outputs(model, all_rows, new=10), rtol=1e-9)


def test_outputs_are_drawn_as_often_as_they_are_probable():
    """Up to two tokens of three, so seven outputs: a chi-square test of 4000 samples of each of three rows."""
    classes, new, eos, samples = 3, 2, 1, 4000
    batch = Batch("decoder_only", vocab=classes)
    model = small("decoder_only", ROPE, num_layers=1, num_heads=2, num_classes=classes)
    sampling = Sampling(temperature=1.5, num_samples=samples)
    decoded = batch.decoder(model, sampling, new=new, key=KEY)(eos)
    full = batch.log_probs(model, new)
    every = [(eos,), *((a, b) for a in (0, 2) for b in range(3))]
    for row in range(3):
        logs = full([row] * 7, every)
        flat = [np.exp(log / 1.5) / np.exp(log / 1.5).sum(-1, keepdims=True) for log in logs]
        expected = np.array([np.prod([p[t, v] for t, v in enumerate(y)]) for p, y in zip(flat, every)])
        outputs = [tuple(t[:n].tolist()) for t, n in zip(decoded.tokens[row], decoded.lengths[row])]
        counts = np.array([outputs.count(y) for y in every])
        assert counts.sum() == samples
        chi_square = np.sum((counts - samples * expected) ** 2 / (samples * expected))
        assert chi_square < stats.chi2.ppf(0.999, df=6)
        assert np.ptp(expected) > 0.1
        own = [sum(log[t, v] for t, v in enumerate(y)) for log, y in zip(logs, every)]  # at temperature 1
        np.testing.assert_allclose(decoded.log_probs[row], [own[every.index(y)] for y in outputs], rtol=1e-4)


def test_sampling_needs_a_key():
    model = small("decoder_only", num_layers=1)
    with pytest.raises(ValueError, match=r"Sampling\(temperature=1.0.*\) draws tokens: pass key"):
        decode(model, np.ones((1, 1), np.int32), Sampling(), max_new_tokens=1)
    with pytest.raises(TypeError, match="decoding = 'greedy' is none of Greedy, Beam and Sampling: pass one of these"):
        decode(model, np.ones((1, 1), np.int32), "greedy", max_new_tokens=1)
