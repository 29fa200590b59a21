"""Beam search against exhaustive search, and against a beam search without cache in Python lists."""

import jax
import numpy as np
import pytest
from decoded_rows import NEW, Batch
from small_models import small

from posenc_jax.encodings import FoX, PositionalEncoding, RoPE, T5Bias
from posenc_jax.models import Beam, Greedy, Slots

pytestmark = pytest.mark.usefixtures("float64")

ROPE = Slots((RoPE(),), (RoPE(),), ())
SETTINGS = [
    Beam(3),
    Beam(3, early_stopping=False),
    Beam(3, length_penalty="huggingface", alpha=1.0),
    Beam(3, length_penalty="huggingface", alpha=-0.5, early_stopping=False),
    Beam(3, length_penalty="none"),
    Beam(3, alpha=2.5, early_stopping=False),
]


def penalised(beam, log_prob, length):
    if beam.length_penalty == "gnmt":
        return log_prob / ((5 + length) / 6) ** beam.alpha
    return log_prob / length**beam.alpha if beam.length_penalty == "huggingface" else log_prob


def by_lists(beam, log_probs, eos, new=NEW):
    """(score, log P, tokens) of one row's outputs, best first; ``log_probs(beginnings)`` are those of next tokens."""
    beginnings, finished = [(0.0, ())], []
    for length in range(1, new + 1):
        nexts = log_probs([tokens for _, tokens in beginnings])
        continued = [
            (log_prob + next_log_probs[v], (*tokens, v))
            for (log_prob, tokens), next_log_probs in zip(beginnings, nexts)
            for v in range(len(next_log_probs))
        ]
        continued.sort(key=lambda c: -c[0])
        finished += [(penalised(beam, p, length), p, y) for p, y in continued[: beam.size] if y[-1] == eos]
        finished = sorted(finished, key=lambda f: -f[0])[: beam.size]
        beginnings = [c for c in continued if c[1][-1] != eos][: beam.size]
        if len(finished) == beam.size:
            if beam.early_stopping:
                return finished
            possible = max(
                (penalised(beam, p, n) for p, _ in beginnings for n in range(length + 1, new + 1)), default=0
            )
            if finished[-1][0] >= possible:
                return finished
    finished += [(penalised(beam, p, new), p, y) for p, y in beginnings]
    return sorted(finished, key=lambda f: -f[0])[: beam.size]


def check_like_lists(kind, slots, padded, settings):
    batch = Batch(kind, padded=padded)
    model = small(kind, slots, num_layers=1, num_heads=2)
    full = batch.log_probs(model)
    cut_off = finished = 0
    for beam in settings:
        run = batch.decoder(model, beam)
        endless = run().tokens
        for eos in (int(endless[0, 0, 1]), int(endless[1, 0, 3]), 7):
            decoded = run(eos)
            for row in range(3):

                def next_log_probs(beginnings, row=row):
                    filled = beginnings + [()] * (3 - len(beginnings))  # one width, to be compiled once
                    return [log[-1] for log in full([row] * 3, filled)][: len(beginnings)]

                expected = by_lists(beam, next_log_probs, eos)
                scores, log_probs, outputs = zip(*expected)
                np.testing.assert_allclose(decoded.scores[row], scores, rtol=1e-9)
                np.testing.assert_allclose(decoded.log_probs[row], log_probs, rtol=1e-9)
                assert decoded.lengths[row].tolist() == [len(y) for y in outputs]
                assert [tuple(t) for t in decoded.tokens[row]] == [(*y, *[0] * (NEW - len(y))) for y in outputs]
                finished += sum(y[-1] == eos and len(y) < NEW for y in outputs)
                cut_off += sum(y[-1] != eos for y in outputs)
    assert finished > 3
    assert cut_off > 3


@pytest.mark.parametrize(
    ("kind", "slots", "padded", "settings"),
    [
        ("decoder_only", ROPE, True, [SETTINGS[0], SETTINGS[3]]),
        pytest.param("decoder_only", ROPE, True, SETTINGS[1:3], marks=pytest.mark.slow),
        pytest.param("encoder_decoder", Slots((), (FoX(),), ()), False, SETTINGS[3:4], marks=pytest.mark.slow),
        pytest.param("decoder_only", Slots((), (T5Bias(),), ()), False, SETTINGS, marks=pytest.mark.slow),
        pytest.param("encoder_decoder", ROPE, True, SETTINGS, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_beam_search_is_what_it_is_without_cache(kind, slots, padded, settings):
    check_like_lists(kind, slots, padded, settings)


STEPS = []


class Counting(PositionalEncoding):
    """Does nothing but count the steps."""

    name, paper, citation = "counting", "", ""

    def bias(self, params, geometry):
        jax.debug.callback(lambda: STEPS.append(1))
        return np.zeros((1, 1, 1, 1))


@pytest.mark.parametrize("decoding", [pytest.param(Greedy(), marks=pytest.mark.slow), Beam(2)])
def test_decoding_ends_with_its_last_row(decoding):
    """A row that ends at its second token gives the same alone, in fewer steps."""
    model = small("decoder_only", Slots(decoder=(Counting(),)), num_layers=1, num_heads=2)
    batch, taken, found = Batch("decoder_only", padded=False), [], []
    together = batch.decoder(model, decoding, new=50)
    alone = batch.decoder(model, decoding, new=50, rows=slice(0, 1))
    eos = int(together().tokens[0, 0, 1])
    for run in (alone, together):
        jax.effects_barrier()
        STEPS.clear()
        found.append(run(eos))
        jax.effects_barrier()
        taken.append(len(STEPS) - 1)  # without the prefill
    assert taken[0] < taken[1]
    if decoding == Greedy():
        assert taken == [decoded.lengths.max() for decoded in found]
    one, all_rows = found
    np.testing.assert_array_equal(one.tokens[0], all_rows.tokens[0])
    np.testing.assert_allclose(one.log_probs[0], all_rows.log_probs[0], rtol=1e-12)
