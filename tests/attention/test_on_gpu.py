"""What only a device can show: the checks of scripts/on_device, at their full sizes."""

import os

import jax
import pytest
from device_parts.checks import calls, compared, repeated, replicas

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(jax.default_backend() == "cpu", reason="jax computes on the CPU: this needs a GPU"),
]


@pytest.mark.parametrize("call", calls(miniature=False), ids=str)
def test_every_path_is_the_reference(call):
    found = compared(call)
    assert found["well"], found


def test_training_repeats_to_the_bit():
    if "--xla_gpu_deterministic_ops=true" not in os.environ.get("XLA_FLAGS", ""):
        pytest.skip("bits repeat with XLA_FLAGS=--xla_gpu_deterministic_ops=true")
    assert repeated(miniature=False)["well"]


def test_replicas_in_one_batch_are_those_one_after_the_other():
    found = replicas(miniature=False)
    assert found["well"], found
