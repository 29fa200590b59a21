"""Near and far on a small model: what the task asks can be known, and is read in the right place; so are the heads."""

import dataclasses
import types

import jax
import numpy as np
import pytest
import scipy.stats

from experiments.context import planes
from experiments.context.small import config
from experiments.near_and_far import heads, moebius, task
from posenc_jax.encodings import RoPE
from posenc_jax.models import Transformer
from posenc_jax.training.step import init_params, model_of

PAGES = [np.random.default_rng(page).integers(3, 300, 512) for page in range(8)]


@pytest.fixture(scope="module")
def loaded():
    model = Transformer(d_model=16, num_layers=2, num_heads=2, num_kv_heads=1, head_dim=8, tie_output=True)
    run = dataclasses.replace(config, model=model, posenc=(RoPE(base=1e5, layout="half"),))
    params = jax.tree.map(lambda leaf: 1.5 * leaf, init_params(run, 0))
    return types.SimpleNamespace(config=run, params=params)


@pytest.fixture
def text(monkeypatch):
    monkeypatch.setattr(task, "PAGE", 512)
    monkeypatch.setattr(task, "pages", lambda loaded: PAGES)
    monkeypatch.setattr(task, "pool", lambda loaded: np.arange(200, 1900))
    return task.text_of(None, 1024, 0)


def test_the_word_before_tells_every_asked_word(text):
    """Words stand twice in a text, so that one answer is right; drawn with repetition, as they were, several are."""
    blocks = text.tokens.reshape(-1, task.BLOCK)
    for first, second in text.pairs:
        assert (blocks[first] == blocks[second]).all()
    words = blocks[text.pairs[text.words, 1]].ravel()
    assert [int((text.tokens == word).sum()) for word in words] == [2] * len(words)
    distances, counts = np.unique(np.diff(text.pairs)[:, 0] * task.BLOCK, return_counts=True)
    assert distances.tolist() == [128, 256, 512]
    assert len(set(counts)) == 1
    assert len(np.unique(text.pairs)) == text.pairs.size


def test_answers_are_those_of_all_logits(loaded, text):
    found = task.accuracies(loaded, loaded.config.posenc, text)
    best = np.asarray(model_of(loaded.config, loaded.params)(text.tokens[None].astype(np.int32)))[0].argmax(-1)
    for (first, second), own in zip(text.pairs, found):
        for block, share in zip((first, second), own):
            places = range(block * 64 + 8, block * 64 + 64)
            assert share == pytest.approx(np.mean([best[place - 1] == text.tokens[place] for place in places]))


def test_a_head_s_contents_are_those_of_the_weights(loaded, monkeypatch):
    length, rope = planes.LENGTH, loaded.config.posenc[0]
    monkeypatch.setattr(heads, "LENGTHS", (length,))
    monkeypatch.setattr(heads, "QUERIES", 32)
    tokens = np.random.default_rng(0).integers(4, 2000, length).astype(np.int32)
    at, frequencies = heads.places(length), rope.frequencies_for(loaded.config.dims)
    for of_layer, (queries, keys) in zip(planes.reader(loaded)(tokens), heads.projected(loaded, tokens), strict=True):
        for own, q in zip(of_layer, queries, strict=True):
            found = heads.contents(q, keys[0], at, frequencies)
            np.testing.assert_allclose(
                found.queries, own.queries[at - planes.FROM], rtol=1e-5, atol=1e-5
            )  # float32, two programs
            weights = own.weights[at - planes.FROM][:, 1:]
            chosen = np.take_along_axis(weights, found.own[:, None], axis=1)[:, 0]
            np.testing.assert_allclose(chosen, weights.max(1), rtol=1e-4)


def test_the_interval_of_a_ratio_holds_1_where_the_test_of_pitman_and_morgan_finds_nothing():
    """The test is that of the correlation of sums and differences."""
    generator, agree = np.random.default_rng(0), 0
    for _ in range(200):
        both = generator.normal(size=(2, 16)) * [[1.6], [1.0]] + generator.normal(size=16)
        _, low, high = moebius.ratio(*both.tolist())
        assert (scipy.stats.pearsonr(both[0] + both[1], both[0] - both[1]).pvalue < 0.05) == (not low <= 1 <= high)
        agree += low <= 1 <= high
    assert 20 < agree < 180


def test_lengths_are_compared_by_welch_and_changes_by_pairs():
    generator = np.random.default_rng(0)
    texts = {}
    for key, names in (("8192 0", ("none", "yarn")), ("16384 0", ("none",))):
        own = {name: generator.uniform(size=(12, 2)).tolist() for name in names}
        texts[key] = {"distance": [128] * 12, "words": [True, False] * 6, "second": [64] * 12, **own}
    sides = (("8192 0", "none"), ("8192 0", "yarn"), ("16384 0", "none"))
    none, yarn, twice = (np.array(texts[key][name])[::2, 1] for key, name in sides)
    found = {"texts": texts}
    mean, interval = task.difference(found, "none 1x - yarn 1x")
    own = scipy.stats.ttest_rel(none, yarn).confidence_interval(1 - 0.05 / 9)  # of nine directions
    assert (mean, *interval) == pytest.approx((none.mean() - yarn.mean(), *own))
    mean, interval = task.difference(found, "none 1x - none 2x")
    own = scipy.stats.ttest_ind(none, twice, equal_var=False).confidence_interval(1 - 0.05 / 9)
    assert (mean, *interval) == pytest.approx((none.mean() - twice.mean(), *own))
    assert task.difference(found, "none 1x - none 4x") is None
