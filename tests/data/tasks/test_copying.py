import jax
import jax.numpy as jnp
import numpy as np
import pytest

from posenc_jax.data.tasks import TASKS, Copying

KINDS = ("rsc", "rsc2x", "rdc", "cmc", "cmc2x", "mc", "mc2x", "mcrv")
LENGTHS = list(range(1, 13))
REPEATS = 30


def target_of(kind, prompt):
    """The definition, on names of tokens."""
    if kind == "rdc":
        a, _, b, _, *rest = prompt
        assert prompt == [a, "WITH", b, "IN", *[a] * len(rest)]
        assert a != b
        return [b] * len(rest)
    if kind in ("rsc", "rsc2x"):
        assert len(set(prompt)) == 1
        return prompt * (2 if kind == "rsc2x" else 1)
    back = prompt[::-1]
    return {
        "cmc": prompt,
        "cmc2x": [*prompt, "NEXT", *prompt],
        "mc": back,
        "mc2x": [*back, "NEXT", *back],
        "mcrv": [*back, "NEXT", *prompt],
    }[kind]


def drawn(task, lengths, max_length):
    keys = jax.random.split(jax.random.key(3), len(LENGTHS) * REPEATS)[: len(lengths)]
    draw = jax.jit(jax.vmap(lambda key, n: task.example(key, n, max_length)))
    return jax.tree.map(np.asarray, draw(keys, jnp.asarray(lengths)))


def parsed(task, batch, row):
    """``(prompt, target)`` of one row as names, with the layout checked."""
    names = np.array(task.token_names)
    inputs = names[batch.inputs[row, : batch.length[row]]].tolist()
    targets = names[batch.targets[row, batch.weights[row] == 1]].tolist()
    separator = inputs.index("SEP")
    assert inputs[0] == "BOS"
    assert targets[-1] == "EOS"
    assert inputs[separator + 1 :] == targets[:-1]
    return inputs[1:separator], targets[:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_targets_are_those_of_the_definition(kind):
    task = Copying(kind=kind, num_symbols=11)
    assert len(task.token_names) == task.vocab_size == task.num_classes == 18
    lengths = np.repeat(LENGTHS, REPEATS)
    wide = drawn(task, lengths, 12)
    seen = set()
    for row, n in enumerate(lengths.tolist()):
        prompt, target = parsed(task, wide, row)
        assert len(prompt) == n + (4 if kind == "rdc" else 0)
        assert target == target_of(kind, prompt)
        seen |= set(prompt) - {"WITH", "IN"}
    assert seen == set(map(str, range(11)))
    assert wide.inputs.shape[1] == task.width(12) == int(wide.length[-1])
    if kind not in ("rsc2x", "rdc", "mcrv"):  # the longest target, the longest prompt, and both directions
        return
    narrow = drawn(task, lengths[: 7 * REPEATS], 7)
    assert narrow.inputs.shape[1] == task.width(7)
    for small, large in zip(jax.tree.leaves(narrow), jax.tree.leaves(wide)):
        part = large[: 7 * REPEATS]
        np.testing.assert_array_equal(small, part[:, : small.shape[1]] if part.ndim == 2 else part)


def test_kinds_on_random_symbols_draw_them_independently():
    """All pairs of neighbours occur about equally often, within five standard deviations."""
    task = Copying(kind="cmc", num_symbols=4)
    tokens = drawn(task, np.full(LENGTHS[-1] * REPEATS, 12), 12).inputs[:, 1:13]
    pairs = np.stack([tokens[:, :-1], tokens[:, 1:]], -1).reshape(-1, 2) - 7
    counts = np.zeros((4, 4))
    np.add.at(counts, tuple(pairs.T), 1)
    assert np.abs(counts - len(pairs) / 16).max() < 5 * np.sqrt(len(pairs) / 16)


@pytest.mark.parametrize(("kind", "count"), [("rsc", 5), ("rsc2x", 5), ("rdc", 20)])
def test_enumerated_kinds_return_each_test_example_once(kind, count):
    task = Copying(kind=kind, num_symbols=5)
    draw = jax.jit(jax.vmap(lambda i: task.test_example(jax.random.key(0), i, 3, 4)))
    example = jax.tree.map(np.asarray, draw(np.arange(count + 7)))
    rows = [parsed(task, example, row) for row in range(count)]
    assert all(target == target_of(kind, prompt) for prompt, target in rows)
    assert len({tuple(prompt) for prompt, _ in rows}) == count
    assert {prompt[0] for prompt, _ in rows[:5]} == set("01234")  # the first few are a fair sample
    assert not example.weights[count:].any()
    assert example.weights[:count].any(axis=1).all()


def test_what_is_asked_is_the_beginning_of_the_docstring_or_of_a_kind():
    assert Copying(kind="rsc").asks == "Copy a token n times"
    assert Copying(kind="mcrv").asks == "Copy or reverse a string of n symbols, decoder-only"
    assert TASKS["bucket_sort"]().asks == "A string of 5 symbols in ascending order"
    assert TASKS["odds_first"]().asks.endswith("then those at 0, 2, 4, ...")
    assert all(" " in cls().asks and "`" not in cls().asks for cls in TASKS.values())
