"""What a command sets before JAX starts."""

import importlib

import pytest

from posenc_jax.cli import main
from posenc_jax.cli.errors import UsageError
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


@pytest.mark.parametrize("command", ["train", "ablate", "plan", "tune"])
def test_devices_are_set_before_a_config_is_read(command, monkeypatch):
    """A config that computes something would fix them."""
    module, said = importlib.import_module(f"posenc_jax.cli.{command}"), []

    def load(*_):
        said.append("load")
        raise UsageError("enough")

    monkeypatch.setattr(module, "prepare_jax", lambda: said.append("prepare"))
    monkeypatch.setattr(module, "load_config", load)
    assert main([command, "x.py"]) == 2
    assert said == ["prepare", "load"]
