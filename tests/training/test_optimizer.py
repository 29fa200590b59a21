"""The optimizer against its formulas, step by step in NumPy."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from posenc_jax.config import Optimizer, Run
from posenc_jax.data.tasks import TASKS
from posenc_jax.encodings import Learned, RoPE
from posenc_jax.models import Slots
from posenc_jax.models.config import Transformer
from posenc_jax.training.optimizer import decays, optimized, rearranged, schedule, trainable, transformation, updated
from posenc_jax.training.replicas import stack
from posenc_jax.training.step import init_params


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (Optimizer(schedule="constant"), lambda t: 1.0),
        (Optimizer(schedule="linear", final_fraction=0.1), lambda t: 1 - 0.9 * t / 99),
        (Optimizer(schedule="cosine"), lambda t: 0.5 * (1 + math.cos(math.pi * t / 99))),
        (
            Optimizer(schedule="cosine", warmup_steps=10),
            lambda t: (t + 1) / 10 if t < 10 else 0.5 * (1 + math.cos(math.pi * (t - 9) / 90)),
        ),
        (
            Optimizer(schedule="noam", warmup_steps=10),
            lambda t: min((t + 1) ** -0.5, (t + 1) * 10**-1.5) * 10**0.5,
        ),
        (
            Optimizer(schedule="inverse_sqrt", warmup_steps=10),
            lambda t: (t + 1) / 10 if t < 10 else math.sqrt(10 / (t + 1)),
        ),
    ],
)
def test_schedules(config, expected):
    """The factor of update number t = 0, 1, ...; 1 at the last update of the warm-up, and never above."""
    factor = schedule(config, 100)
    got = [float(factor(t)) for t in range(100)]
    np.testing.assert_allclose(got, [expected(t) for t in range(100)], atol=2e-6)
    assert max(got) <= 1.0


@pytest.mark.parametrize("kind", ["linear", "cosine"])
@pytest.mark.parametrize("warmup", [0, 1, 4])
@pytest.mark.parametrize("final", [0.0, 0.25])
def test_schedules_end_at_their_final_fraction(kind, warmup, final):
    """To the bit, at the last of the updates; the last one of the warm-up has rate 1."""
    factor = schedule(Optimizer(schedule=kind, warmup_steps=warmup, final_fraction=final), 10)
    got = [float(factor(t)) for t in range(10)]
    assert got[9] == final
    assert got[max(warmup - 1, 0)] == 1.0
    assert got[:warmup] == sorted(got[:warmup])
    assert (np.diff(got[max(warmup - 1, 0) :]) < 0).all()


@pytest.mark.parametrize("steps", [1, 4])
def test_a_schedule_without_room_to_decay_ends_at_its_peak(steps):
    assert float(schedule(Optimizer(schedule="linear", warmup_steps=4 * (steps > 1)), steps)(steps - 1)) == 1.0


def test_updates_are_adamw_with_clipping():
    """Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2."""
    config = Optimizer(weight_decay=0.1, b1=0.8, b2=0.95, eps=1e-6, clip_norm=0.5)
    rng = np.random.default_rng(0)
    params = {"kernel": rng.standard_normal((3, 2)), "bias": rng.standard_normal(2)}
    gradients = [{name: rng.standard_normal(value.shape) for name, value in params.items()} for _ in range(5)]
    rates = [1.0, 0.5, 0.25, 2.0, 0.125]
    with jax.enable_x64(True):
        got, state = params, transformation(config).init(params)
        for gradient, rate in zip(gradients, rates, strict=True):
            direction, state = transformation(config).update(gradient, state)
            got = updated(config, got, direction, rate)
    moments = {name: [0.0, 0.0] for name in params}
    wanted = params
    for t, (gradient, rate) in enumerate(zip(gradients, rates, strict=True)):
        norm = math.sqrt(sum(float((g**2).sum()) for g in gradient.values()))
        new = {}
        for name, g in gradient.items():
            g = g * min(1.0, 0.5 / norm)
            m = moments[name][0] = 0.8 * moments[name][0] + 0.2 * g
            v = moments[name][1] = 0.95 * moments[name][1] + 0.05 * g**2
            adam = (m / (1 - 0.8 ** (t + 1))) / (np.sqrt(v / (1 - 0.95 ** (t + 1))) + 1e-6)
            decay = 0.1 * wanted[name] if name == "kernel" else 0.0
            new[name] = wanted[name] - rate * (adam + decay)
        wanted = new
    for name, value in wanted.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-6, atol=1e-9)


def test_decay_spares_vectors_and_encodings():
    params = {
        "posenc": {"decoder": ({"table": np.zeros((4, 2))},)},
        "decoder": {
            "blocks": {0: {"query": {"kernel": np.zeros((2, 2)), "bias": np.zeros(2)}, "norm": {"scale": np.zeros(2)}}}
        },
    }
    flags = jax.tree_util.tree_map_with_path(decays, params)
    assert flags["posenc"]["decoder"] == ({"table": False},)
    assert flags["decoder"]["blocks"][0] == {"query": {"kernel": True, "bias": False}, "norm": {"scale": False}}


def test_frozen_leaves_of_an_encoding_are_not_trained():
    class Half(Learned):
        frozen = frozenset({"fixed"})

    params = {
        "embedding": {"fixed": np.zeros(1)},  # the name means nothing outside the encoding
        "posenc": {"decoder": ({}, {"table": np.zeros(1), "fixed": {"inner": np.zeros(1)}})},
    }
    flags = trainable(params, Slots(decoder=(RoPE(), Half())))
    assert flags == {
        "embedding": {"fixed": True},
        "posenc": {"decoder": ({}, {"table": True, "fixed": {"inner": False}})},
    }


# The two forms of the optimizer's state hold the same numbers.


RUN = Run(task=TASKS["copying"](), model=Transformer(d_model=8, num_layers=1, num_heads=2))


def after_a_step(optimizer: Optimizer, *, split: bool):
    """The states of two replicas, whose gradients are their parameters."""
    rule, found = transformation(optimizer), []
    for seed in (0, 1):
        gradients = optimized(init_params(RUN, seed), split=split)
        found.append(rule.update(gradients, rule.init(gradients))[1])
    return stack(found)


@pytest.mark.parametrize(
    "optimizer", [Optimizer(clip_norm=None), Optimizer(clip_norm=1e9), Optimizer(clip_norm=None, mu_dtype="bfloat16")]
)
def test_each_form_becomes_the_other_to_the_bit(optimizer):
    vector, tree = (after_a_step(optimizer, split=split) for split in (False, True))
    assert len(jax.tree.leaves(vector)) == 3 < 20 < len(jax.tree.leaves(tree))
    for found, wanted in (
        (rearranged(vector, tree, split=True), tree),
        (rearranged(tree, vector, split=False), vector),
    ):
        assert jax.tree.structure(found) == jax.tree.structure(wanted)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
