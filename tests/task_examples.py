"""Thousands of examples of a generated task in one program, for tests that compare them with plain Python."""

import functools

import jax
import numpy as np


@functools.cache
def drawn(task, lengths, repeats, max_length=None, seed=7):
    """``repeats`` examples of each length, padded for the longest (or ``max_length``), as NumPy; the length of each
    row. Row numbers are the numbers of test examples.
    """
    max_length = max_length or max(lengths)
    of_rows = np.repeat(np.asarray(lengths, np.int32), repeats)
    key = jax.random.key(seed)
    make = jax.jit(jax.vmap(lambda index, n: task.test_example(key, index, n, max_length)))
    return jax.tree.map(np.asarray, make(np.arange(len(of_rows), dtype=np.int32), of_rows)), of_rows


def rows(task, lengths, repeats):
    """For each example its length, the tokens read, the places asked and the answers there, as lists.

    Also: padding holds nothing and changes nothing, and nothing is asked beyond the length.
    """
    assert_padding_changes_nothing(task, lengths, repeats)
    example, of_rows = drawn(task, lengths, repeats)
    assert example.inputs.shape[1] == task.width(max(lengths))
    assert example.inputs.dtype == example.targets.dtype == np.int32
    assert 0 <= example.inputs.min() <= example.inputs.max() < task.vocab_size
    assert 0 <= example.targets.min() <= example.targets.max() < task.num_classes
    for n, inputs, targets, weights, total, segments in zip(
        of_rows.tolist(),
        example.inputs,
        example.targets,
        example.weights,
        example.length.tolist(),
        example.segment_ids,
        strict=True,
    ):
        assert segments.tolist() == [1] * total + [0] * (len(segments) - total)
        assert not inputs[total:].any()
        assert not weights[total:].any()
        assert set(weights.tolist()) <= {0.0, 1.0}
        asked = np.flatnonzero(weights).tolist()
        yield n, inputs[:total].tolist(), asked, targets[asked].tolist()


def assert_padding_changes_nothing(task, lengths, repeats):
    """The same examples, padded for a longer length, are the same with more padding."""
    narrow, _ = drawn(task, lengths, repeats)
    wide, _ = drawn(task, lengths, repeats, max(lengths) + 7)
    for small, large in zip(jax.tree.leaves(narrow), jax.tree.leaves(wide), strict=True):
        if large.ndim > 1:
            assert not large[:, small.shape[1] :].any()
            large = large[:, : small.shape[1]]
        np.testing.assert_array_equal(small, large)


def assert_uniform(values, symbols):
    """Each symbol as often as the others, within five standard deviations."""
    values, share = np.asarray(values), 1 / len(symbols)
    assert set(values.tolist()) <= set(symbols)
    for symbol in symbols:
        assert_share(values == symbol, share)


def assert_share(happened, share):
    """So large a share of independent events happened, within five standard deviations."""
    happened = np.asarray(happened)
    assert abs(happened.mean() - share) < 5 * np.sqrt(share * (1 - share) / happened.size) + 1e-12
