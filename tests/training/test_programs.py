"""One program for encodings that differ in values alone: their tables are inputs, not constants."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from trained_runs import CONFIG

from posenc_jax import parse
from posenc_jax.config import Execution
from posenc_jax.runs.state import abstract_state
from posenc_jax.training.replicas import Program, lowered, make_mesh, put_state
from posenc_jax.training.step import train_call


def text(run):
    """The program that trains a group of the run."""
    state = abstract_state(run, 2)
    call = lambda s, _, __: train_call(run, None, s)  # noqa: E731
    return lowered(call, run.execution, make_mesh(run.execution, 2), state, None, donate=True)[0].as_text()


@pytest.mark.parametrize(
    ("posenc", "programs"),
    [
        (("rope", "rope(base=5e5)", "rope(scaling=linear(factor=4))"), 1),
        (("sinusoidal", "sinusoidal(base=100)", "rope(rotary_dim=4)"), 2),  # the last has other operations
        (("temperature(0.5)", "temperature(2)"), 1),
    ],
)
def test_encodings_that_differ_in_values_share_a_program(posenc, programs):
    assert len({text(dataclasses.replace(CONFIG, posenc=parse(own))) for own in posenc}) == programs


@pytest.mark.parametrize("mode", ["devices", "vmap", "map"])
def test_a_program_computes_with_its_own_values(mode):
    """Equal tables go in once; whole numbers stay constants."""
    whole, execution = np.arange(3), Execution(mode=mode)
    mesh, state = make_mesh(execution, 2), np.arange(6, dtype=np.float32).reshape(2, 3)

    def scaled(table):
        other = table.copy()
        return lambda replica, fed, shared: (replica * table + whole * shared, replica + other)

    first, second = np.array([1.0, 2.0, 3.0], np.float32), np.array([4.0, 5.0, 6.0], np.float32)
    given = [lowered(scaled(table), execution, mesh, state, 2.0) for table in (first, second)]
    assert [len(tables) for _, _, tables in given] == [1, 1]
    assert given[0][0].as_text() == given[1][0].as_text()
    executables = {}
    for table in (first, second):
        program = Program("scaled", scaled(table), execution, mesh, state, 2.0, executables=executables)
        product, total = program(put_state(state, mesh), 2.0)
        np.testing.assert_array_equal(product, state * table + 2 * whole)
        np.testing.assert_array_equal(total, state + table)
    assert len(executables) == 1
    named = Program("named", lambda x, *_: {"a": x * first}, execution, mesh, state, 2.0, executables=executables)
    other = Program("named", lambda x, *_: {"b": x * first}, execution, mesh, state, 2.0, executables=executables)
    assert [list(own(put_state(state, mesh), 2.0)) for own in (named, other)] == [["a"], ["b"]]


def test_a_program_for_devices_that_are_only_described_touches_none(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("no device is there to put anything on")

    monkeypatch.setattr("jax.device_put", refuse)
    run = dataclasses.replace(CONFIG, posenc=parse("rope"))
    assert "stablehlo" in text(run)
