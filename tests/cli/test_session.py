"""What a command sets before JAX starts."""

import pytest

from posenc_jax.cli.session import deterministic


@pytest.mark.parametrize(
    ("flags", "then"),
    [
        ("", "--xla_gpu_deterministic_ops=true"),
        ("--xla_dump_to=x", "--xla_dump_to=x --xla_gpu_deterministic_ops=true"),
        ("--xla_gpu_deterministic_ops=false", "--xla_gpu_deterministic_ops=false"),
        ("--xla_gpu_exclude_nondeterministic_ops=true", "--xla_gpu_exclude_nondeterministic_ops=true"),
    ],
)
def test_gpus_give_equal_bits_unless_they_are_told_otherwise(flags, then):
    assert deterministic(flags) == then
