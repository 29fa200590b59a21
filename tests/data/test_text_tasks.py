"""Which test examples an evaluated length stands for, and the windows of a language model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.data.ragged import Ragged
from posenc_jax.data.records import Records
from posenc_jax.data.tasks import Example
from posenc_jax.data.text import Classification, Data, LanguageModel
from posenc_jax.data.text.base import mixed, test_ids


@pytest.mark.parametrize("count", [0, 1, 2, 7, 3959, 7919, 40_000])
def test_a_mixed_order_has_everything_once(count):
    order = np.asarray(jax.jit(mixed)(np.arange(count + 3), count))
    assert sorted(order[:count]) == list(range(count))
    assert order[count:].tolist() == [-1] * 3


@pytest.mark.parametrize("count", [97, 3959, 7920, 10**6, 2**31 - 1])
def test_the_first_of_a_mixed_order_lie_evenly_over_all(count):
    """Sixty-four of them: between two neighbours there are never more than three times as many as on average."""
    chosen = np.sort(np.asarray(jax.jit(mixed)(np.arange(64), count)).astype(np.int64))
    gaps = np.diff([-1, *chosen, count])
    assert len(set(chosen)) == 64
    assert gaps.max() <= 3 * count / 64


def test_a_length_stands_for_its_bucket():
    lengths = np.sort(np.random.default_rng(0).integers(1, 70, 200)).astype(np.int32)
    seen = []
    for length in (8, 16, 32, 64):
        ids = np.asarray(jax.jit(test_ids)(lengths, length, np.arange(200)))
        chosen = ids[ids >= 0]
        assert set(chosen) == {i for i, size in enumerate(lengths) if length // 2 < size <= length}
        assert (ids[len(chosen) :] == -1).all()
        seen += chosen.tolist()
    assert len(seen) == len(set(seen))


def test_windows_are_the_text_cut_into_pieces():
    task = LanguageModel(data=Data(name="own/python-docs", tokenizer="bytes"), max_length=4, row=4)
    stream = np.arange(5, 105, dtype=np.int32)
    data = {"test": Records(Ragged(stream, np.array([0, 100], np.int32)), given=np.ones(1, np.int32))}
    for length, width in ((4, 4), (9, 16)):
        count = 100 // (length + 1)
        batch = jax.jit(task.test_batch, static_argnums=4)(data, None, length, np.arange(count + 2), width)
        pieces = {tuple(stream[i * (length + 1) : (i + 1) * (length + 1)].tolist()) for i in range(count)}
        shown = zip(np.asarray(batch.inputs).tolist(), np.asarray(batch.targets).tolist())
        found = {(*row[:length], target[length - 1]) for row, target in shown}
        assert found - {(0,) * (length + 1)} == pieces
        np.testing.assert_array_equal(batch.weights.sum(axis=1), [length] * count + [0, 0])
        np.testing.assert_array_equal(batch.inputs[:count, 1:length], batch.targets[:count, : length - 1])
        np.testing.assert_array_equal(batch.length, [length] * count + [0, 0])


def test_perplexity_by_position():
    task = LanguageModel(data=Data(name="own/python-docs", tokenizer="bytes"), max_length=4, row=4)
    rng = np.random.default_rng(1)
    logits, targets = rng.normal(size=(3, 6, 8)).astype(np.float32), rng.integers(0, 8, (3, 6)).astype(np.int32)
    weights = np.ones((3, 6), np.float32)
    weights[0, 5] = 0
    example = Example(jnp.asarray(targets), jnp.asarray(targets), jnp.asarray(weights), None, None)
    found = task.results({"loss": 1.0, **jax.tree.map(np.asarray, task.extra_sums(jnp.asarray(logits), example))})
    losses = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, targets[..., None], -1)[..., 0]
    for (first, last), (a, b, perplexity) in zip(((0, 0), (1, 1), (2, 3), (4, 7)), found["perplexity_by_position"]):
        here = slice(first, last + 1)
        expected = np.exp((losses * weights)[:, here].sum() / weights[:, here].sum())
        assert (a, b) == (first, last)
        assert perplexity == pytest.approx(expected, rel=1e-5)
    assert found["perplexity"] == pytest.approx(np.e)


def test_a_class_is_not_told_from_logits_that_are_not_finite():
    task = Classification(data=Data("own"))
    logits = np.zeros((2, 1, task.num_classes), np.float32)
    logits[1] = np.nan
    zeros = np.zeros((2, 1), np.int32)
    example = Example(zeros, zeros, np.ones((2, 1), np.float32), np.ones(2, np.int32), segment_ids=zeros + 1)
    found = task.results({"confusion": np.asarray(task.extra_sums(logits, example)["confusion"])})
    assert np.isnan(found["macro_f1"])
    found = task.results({"confusion": np.asarray(task.extra_sums(np.nan_to_num(logits), example)["confusion"])})
    assert found["macro_f1"] > 0
    assert found["confusion"][0][0] == 2
