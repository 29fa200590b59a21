"""Grids of arrows and letters, read by plain Python; and which positions models are given."""

import functools

import jax
import numpy as np
from task_examples import assert_uniform, drawn, rows

from posenc_jax.config import Run
from posenc_jax.data.tasks import ArrowGrid
from posenc_jax.encodings import parse
from posenc_jax.models import Streams, Transformer
from posenc_jax.training.step import forward, init_params

TASK = ArrowGrid(size=5, num_arrows=4, num_letters=3)
SIZES = (3, 5, 6)
# Where the base of a Y is, (rows down, columns to the right): opposite to where its top points.
BASES = {"Y^": (1, 0), "Y>": (0, -1), "Yv": (-1, 0), "Y<": (0, 1)}


def test_the_arrow_at_the_base_is_the_answer():
    turns, answers_seen, places, others = [], [], [], []
    for n, tokens, asked, answers in rows(TASK, SIZES, 800):
        assert len(tokens) == n * n
        words = [TASK.token_names[token] for token in tokens]
        cells = {(i // n, i % n): word for i, word in enumerate(words)}
        ((place, y),) = [(at, word) for at, word in cells.items() if word in BASES]
        down, right = BASES[y]
        arrow = cells[place[0] + down, place[1] + right]
        assert asked == [place[0] * n + place[1]]
        assert [TASK.class_names[answer] for answer in answers] == [arrow]
        assert sum(word in "^>v<" for word in words) == 4
        assert sorted(word for word in words if word in "ABC") == ["A", "B"]
        turns.append(y)
        answers_seen.append(arrow)
        places += [place] if n == 5 and y == "Y>" else []
        others += [words.index("A")] if n == 3 else []
    assert_uniform(turns, tuple(BASES))
    assert_uniform(answers_seen, tuple("^>v<"))
    assert_uniform([row for row, _ in places], range(5))
    assert_uniform([column for _, column in places], range(1, 5))
    assert set(others) == set(range(9))


def test_cells_stand_at_rows_and_columns():
    example, lengths = drawn(TASK, SIZES, 800)
    for n, positions in list(zip(lengths.tolist(), example.grid_positions.tolist()))[::400]:
        assert positions[: n * n] == [[row, column] for row in range(n) for column in range(n)]
        assert not any(map(any, positions[n * n :]))


@functools.cache
def logits(spec):
    """Of a small model on grids of five rows, with one encoding."""
    model = Transformer(d_model=16, num_heads=2, num_layers=1, mlp_dim=16)
    run = Run(task=TASK, model=model, posenc=parse(spec))
    example, lengths = drawn(TASK, SIZES, 800)
    example = jax.tree.map(lambda leaf: leaf[lengths == 5][:4], example)
    params = init_params(run, 0)
    ids = np.arange(4, dtype=np.int32)
    run_forward = jax.jit(functools.partial(forward, run, streams=Streams(), train=False))
    return np.asarray(run_forward(params, example, example_ids=ids))[:, :25]


def test_encodings_of_two_axes_read_rows_and_columns_and_others_the_order_of_reading():
    """An encoding that is given positions of other axes than it reads refuses them."""
    axial, counted, raster = map(logits, ("axial_rope", "grid(width=5)|axial_rope", "rope"))
    assert np.isfinite(axial).all()
    # Five columns: to count them along the order of reading is the same.
    np.testing.assert_allclose(axial, counted, rtol=1e-4, atol=1e-5)
    assert np.abs(axial - raster).max() > 1e-3
