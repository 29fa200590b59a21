"""The kernel on several devices: every device computes its own replicas, rows and heads, and nothing is gathered."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from processes import python

from posenc_jax.attention import Call
from posenc_jax.attention.devices import part_of
from posenc_jax.encodings import Geometry
from posenc_jax.encodings.interface.attention import prepare

# Over how many of four devices batches and matrices are split; the others have other replicas.
SPLITS = [(1, 1), (2, 1), (1, 2), (2, 2)]


def on_four(call):
    """What `on_devices` says, in a process of four devices."""
    code = f"import json, sys; sys.path.insert(0, 'attention'); import on_devices; print(json.dumps({call}))"
    return python(code, devices=4)


@pytest.mark.parametrize("split", [SPLITS[3], *(pytest.param(s, marks=pytest.mark.slow) for s in SPLITS[:3])], ids=str)
def test_training_on_several_devices_is_that_of_the_reference(split):
    assert on_four(f"on_devices.apart(*{split})") < 1e-5  # a hundredth of a step of Adam


def test_it_lowers_for_several_tpus_and_nothing_is_gathered():
    for said, is_kernel, of_own_part in on_four(f"[on_devices.lowered(*split) for split in {SPLITS}]"):
        assert "cannot be automatically partitioned" in said  # without a mesh XLA is asked to divide it
        assert is_kernel
        assert of_own_part


def test_the_choice_is_of_what_one_device_has():
    names = ("replica", "data", "model")
    mesh = jax.sharding.AbstractMesh((1, 2, 2), names, axis_types=(jax.sharding.AxisType.Auto,) * 3)
    q, k = np.zeros((8, 4, 16, 8), np.float32), np.zeros((8, 2, 16, 8), np.float32)
    call = prepare(q, k, k, (), (), Geometry.of_length(16, num_heads=4, causal=True))
    assert (Call.of(call).batch, Call.of(call).num_heads, Call.of(call).num_kv_heads) == (8, 4, 2)
    with jax.sharding.use_abstract_mesh(mesh):
        found = Call.of(call)
    assert (found.batch, found.num_heads, found.num_kv_heads) == (4, 2, 1)
    assert part_of(7, 2) == 7  # not divided: every device has all
