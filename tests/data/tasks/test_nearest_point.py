"""Points in the plane, compared pair by pair in plain Python; and which encodings are given their positions."""

import dataclasses
import functools
import math

import jax
import numpy as np
import pytest
from task_examples import assert_uniform, drawn, rows

from posenc_jax.config import Run
from posenc_jax.data.tasks import NearestPoint
from posenc_jax.encodings import parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.interface.slots import elements, position_axes
from posenc_jax.models import Streams, Transformer
from posenc_jax.training.step import forward, init_params

TASK = NearestPoint(num_points=5, num_symbols=7)
SIZES = (2, 5, 7)
MODEL = Transformer(d_model=16, num_heads=2, num_layers=1, mlp_dim=16)
OF_TWO_AXES = [
    slot
    for family in CATALOGUE.values()
    for method in family
    if method.spec.startswith("grid(width=8)|") and position_axes(slot := parse(method.spec)[1:]) == 2
]


def test_every_point_answers_with_the_symbol_of_the_nearest_other_one():
    example, _ = drawn(TASK, SIZES, 400)
    assert example.grid_positions.dtype == np.float32
    first, ranks, places = [], [], []
    for (n, symbols, asked, answers), points in zip(rows(TASK, SIZES, 400), example.grid_positions.tolist()):
        assert len(symbols) == len(set(symbols)) == n
        assert asked == list(range(n))
        assert all(0 <= x < 2 * math.sqrt(n) for point in points[:n] for x in point)
        assert not any(map(any, points[n:]))
        for i, answer in enumerate(answers):
            j = symbols.index(answer)
            assert j != i
            own = math.dist(points[i], points[j])
            assert all(own <= math.dist(points[i], points[k]) + 1e-6 for k in range(n) if k != i)
        first.append(symbols[0])
        if n == 5:  # of the first point of the list the nearest is any of the others: what `chance` says
            ranks.append(symbols.index(answers[0]))
            places.append([int(2 * x / math.sqrt(n)) for x in points[0]])
    assert_uniform(first, range(7))
    assert_uniform(ranks, (1, 2, 3, 4))
    assert TASK.chance == 1 / 4
    for axis in zip(*places):
        assert_uniform(axis, range(4))


@functools.cache
def logits(text, change=lambda points: points):
    """Of a small model on five points, with one encoding, where all points are changed alike."""
    run = Run(task=TASK, model=MODEL, posenc=parse(text))
    example, lengths = drawn(TASK, SIZES, 400)
    example = jax.tree.map(lambda leaf: leaf[lengths == 5][:4], example)
    example = dataclasses.replace(example, grid_positions=change(example.grid_positions))
    run_forward = jax.jit(functools.partial(forward, run, streams=Streams(), train=False))
    return np.asarray(run_forward(init_params(run, 0), example, example_ids=np.arange(4, dtype=np.int32)))[:, :5]


def shifted(points):
    return points + np.float32(2.375)


@pytest.mark.parametrize(("text", "relative"), [("axial_rope", True), ("sinusoidal_axes", False)])
def test_positions_are_read_as_the_real_numbers_that_they_are(text, relative):
    assert np.abs(logits(text) - logits(text, np.floor)).max() > 1e-3
    assert np.allclose(logits(text), logits(text, shifted), rtol=1e-4, atol=1e-5) == relative


def reads_whole(slot):
    return any(element.integer_positions for element in elements(slot))


def test_encodings_of_whole_positions_are_refused():
    refused = [slot for slot in OF_TWO_AXES if reads_whole(slot)]
    assert {element.name for slot in refused for element in slot} >= {"conditional_position", "decomposed", "irpe"}
    for slot in refused:
        with pytest.raises(ValueError, match=r"reads whole positions, and those of task 'nearest_point' are real num"):
            Run(task=TASK, model=MODEL, posenc=slot)
