"""Planes of the heads of a model, their parts of the logits, and kernels, against loops over pairs of tokens."""

import dataclasses
import types

import jax
import numpy as np
import pytest

from experiments.context import planes, surgery
from experiments.context.small import config
from posenc_jax.encodings import RoPE
from posenc_jax.models import Transformer
from posenc_jax.training.step import init_params, model_of


@pytest.fixture(scope="module")
def loaded():
    model = Transformer(d_model=16, num_layers=2, num_heads=2, num_kv_heads=1, head_dim=8, tie_output=True)
    run = dataclasses.replace(config, model=model, posenc=(RoPE(base=1e5, layout="half"),))
    params = jax.tree.map(lambda leaf: 1.5 * leaf, init_params(run, 0))
    return types.SimpleNamespace(config=run, params=params)


@pytest.fixture(scope="module")
def tokens():
    return np.random.default_rng(0).integers(4, 2000, planes.LENGTH).astype(np.int32)


@pytest.fixture(scope="module")
def heads(loaded, tokens):
    return list(planes.reader(loaded)(tokens))


def test_planes_sum_to_the_logits_of_attention(loaded, heads):
    frequencies = loaded.config.posenc[0].frequencies_for(loaded.config.dims)
    assert len(heads) == 2
    for head in (own for layer in heads for own in layer):
        logits = planes.contributions(head, frequencies).sum(-1)
        there = np.arange(planes.LENGTH) <= np.arange(planes.FROM, planes.LENGTH)[:, None]
        weights = np.where(there, np.exp(logits - logits.max(1, keepdims=True)), 0)
        np.testing.assert_allclose(weights / weights.sum(1, keepdims=True), head.weights, atol=2e-6)


def test_parts_of_the_variance_are_those_of_a_loop():
    given = np.random.default_rng(1).normal(size=(3, 7, 2))
    expected, of_logit = np.zeros(2), 0.0
    for query in range(3):
        keys = given[query, 1 : 4 + query + 1]
        logit = keys.sum(1)
        expected += [np.cov(keys[:, plane], logit, bias=True)[0, 1] for plane in range(2)]
        of_logit += logit.var()
    np.testing.assert_allclose(planes.variance_parts(given), expected / of_logit)


def test_a_kernel_is_the_mean_over_pairs_of_contents(heads):
    head, frequencies = heads[1][0], RoPE(base=1e5).frequencies_for(types.SimpleNamespace(head_dim=8))
    distance = 63
    moved = head.queries[:, None] * np.exp(1j * distance * frequencies) * head.keys.conj()
    expected = moved.real.sum(-1).mean() / np.sqrt(8)
    found = planes.kernel(head.queries.mean(0), head.keys.mean(0), frequencies, np.array([distance]))
    np.testing.assert_allclose(found, [expected], rtol=1e-5)


def test_weights_by_distance_are_those_of_a_loop():
    weights = np.random.default_rng(2).random((3, 7))
    expected = [np.mean([weights[query, query + 4 - distance] for query in range(3)]) for distance in range(4)]
    np.testing.assert_allclose(planes.by_distance(weights), expected)


def test_a_wave_that_returns_at_63_is_an_alias_and_one_that_falls_is_none():
    distances = np.arange(200)
    wave = planes.alias(np.cos(distances * 2 * np.pi / 63))
    assert (wave["peak"], wave["rank"], wave["taken"]) == (0, 1, True)
    assert wave["height"] == pytest.approx(1)
    falling = planes.alias(np.exp(-distances / 20))
    assert not falling["taken"]


def test_equal_planes_are_as_the_module_says():
    frequencies = RoPE(base=1e5).frequencies_for(types.SimpleNamespace(head_dim=64))
    values = planes.kernel(np.ones(32), np.ones(32), frequencies, np.arange(200))
    own = planes.alias(values)
    assert (own["rank"], own["taken"]) == (2, False)
    assert [round(values[d] / values[0], 3) for d in (63, 1)] == [0.605, 0.971]
    turns = 63 * frequencies[:3] / (2 * np.pi)
    assert [round(t) for t in turns] == [10, 7, 5]
    assert round(5 - turns[2], 2) == 0.12


def test_surgery_begins_with_the_model_as_it_is(loaded, tokens):
    run = loaded.config
    cases = surgery.cases_of(2, 4)
    assert [name for name in cases if name.startswith("layer")] == ["layer 0 does not", "layer 1 does not"]
    two = {name: cases[name] for name in ("all layers rotate", "base 1e4 in every second layer")}
    found = surgery.losses(loaded, tokens[None, :64], two)
    for slot, (name, loss) in zip((run.posenc, ((RoPE(1e4, "half"),), run.posenc)), found.items(), strict=True):
        own = dataclasses.replace(run, posenc=slot)
        params = {**loaded.params, "posenc": init_params(own, 0)["posenc"]}
        logits = model_of(own, params)(tokens[None, :64])
        expected = -np.take_along_axis(jax.nn.log_softmax(logits[0, :-1]), tokens[1:64, None], axis=1).mean()
        assert loss[0] == pytest.approx(float(expected), rel=2e-6), name
