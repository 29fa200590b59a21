"""What all commands share: the version, options, what is set before JAX starts, and an output that nobody reads."""

import importlib
import importlib.util
import os
import signal
import subprocess
import sys

import pytest

import posenc_jax
from posenc_jax.cli import main
from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.session import deterministic
from posenc_jax.extras import install_command


def test_version(printed):
    assert printed("--version") == f"posenc_jax {posenc_jax.__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], marks=pytest.mark.slow),
        ["list"],
        pytest.param(["list", "rope"], marks=pytest.mark.slow),
    ],
)
def test_an_output_that_nobody_reads_ends_quietly(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-m", "posenc_jax", *arguments], stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("train", ["--training.steps INT", "--posenc ENCODINGS", "--seeds", "--directory", "--model.d-model INT"]),
        ("ablate", ["--training.steps INT", "--posenc ENCODINGS", "--evaluation.lengths", "--executor"]),
    ],
)
def test_options_without_a_path(printed, monkeypatch, command, options):
    monkeypatch.setenv("COLUMNS", "100")
    out = printed(command, "--help")
    for option in options:
        assert option in out
    assert "Defaults: those of a run of the task copying; with a CONFIG, those of CONFIG" in out
    assert "(default: 1000)" in out
    assert command == "ablate" or "with the encoding rope unless --posenc names another" in " ".join(out.split())


@pytest.mark.parametrize("command", ["train", "ablate"])
def test_a_missing_package_is_one_line_and_nothing_is_written(command, capsys, tmp_path, monkeypatch):
    config = {"train": "configs/copy_rope.py", "ablate": "experiments/own_encoding/ablation.py"}[command]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    code = main([command, config, "--track", "tensorboard", "--directory", str(tmp_path / "run")])
    assert code == 2
    assert capsys.readouterr().err == (
        f"posenc: --track tensorboard needs tensorboardX, which is not installed: {install_command('tracking')}\n"
    )
    assert list(tmp_path.iterdir()) == []


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


@pytest.mark.parametrize("command", ["train", "ablate", "plan"])
def test_devices_are_set_before_a_config_is_read(command, monkeypatch):
    """A config that computes something would fix them."""
    said = []

    def load(*_):
        said.append("load")
        raise UsageError("enough")

    monkeypatch.setattr("posenc_jax.cli.session.prepare_jax", lambda: said.append("prepare"))
    monkeypatch.setattr(f"posenc_jax.cli.{command}.asked_config", load)
    assert main([command, "x.py"]) == 2
    assert said == ["prepare", "load"]


@pytest.mark.parametrize("number", ["100000", "two", "1e3"])
def test_an_impossible_number_of_threads(refusal, monkeypatch, number):
    monkeypatch.setenv("NPROC", number)
    said = f"posenc: NPROC = {number!r} must be a number of threads, from 1 to 1024: set it, or unset it\n"
    assert refusal("train", "configs/copy_rope.py") == said
