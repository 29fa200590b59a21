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
from posenc_jax.cli.texts import LARGEST_SEED


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
        ("ablate", ["--training.steps INT", "--posenc ENCODINGS", "--evaluation.lengths", "--directory"]),
        ("evaluate", ["--lengths", "--posenc", "--data", "--shuffle-words"]),
    ],
)
def test_options_without_a_path(printed, monkeypatch, command, options):
    monkeypatch.setenv("COLUMNS", "100")
    out = printed(command, "--help")
    for option in options:
        assert option in out
    assert "--task." not in out.partition("╭")[2]
    if command != "evaluate":
        assert f"`posenc {command} CONFIG --help` also shows those of the task of CONFIG" in " ".join(out.split())
        assert "(default: 1000)" in out


@pytest.mark.parametrize("command", ["translate", "summarize", "classify"])
@pytest.mark.parametrize("seed", [str(LARGEST_SEED + 1), "-1", "1.5", "x"])
def test_a_random_seed_that_is_none_is_refused_in_one_line(capsys, command, seed):
    assert main([command, "nowhere", "text", f"--random-seed={seed}"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert f"--random-seed: {seed} is no whole number from 0 to 2147483647: choose one" in err


def test_the_largest_random_seed_is_one(capsys):
    assert main(["translate", "nowhere", "text", f"--random-seed={LARGEST_SEED}"]) == 2
    assert "--random-seed" not in capsys.readouterr().err  # there is no run in nowhere


@pytest.mark.parametrize("command", ["train", "ablate"])
def test_a_missing_package_is_one_line_and_nothing_is_written(command, capsys, tmp_path, monkeypatch):
    config = {"train": "configs/copy_rope.py", "ablate": "experiments/own_encoding/ablation.py"}[command]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    code = main([command, config, "--track", "tensorboard", "--directory", str(tmp_path / "run")])
    assert code == 2
    assert capsys.readouterr().err == (
        "posenc: --track tensorboard needs tensorboardX, which is not installed: pip install 'posenc-jax[tracking]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_tracker_that_does_not_exist_is_refused(capsys, tmp_path):
    assert main(["train", "configs/copy_rope.py", "--track", "mlflow", "--directory", str(tmp_path / "run")]) == 2
    assert "invalid choice 'mlflow' for argument '--track'" in capsys.readouterr().err
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
    module, said = importlib.import_module(f"posenc_jax.cli.{command}"), []

    def load(*_):
        said.append("load")
        raise UsageError("enough")

    monkeypatch.setattr(module, "prepare_jax", lambda: said.append("prepare"))
    monkeypatch.setattr(module, "load_config", load)
    assert main([command, "x.py"]) == 2
    assert said == ["prepare", "load"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["show", "rope", "alibi", "rope"], "ENCODING: rope"),
        (["show", "rope", "--view", "kernel", "kernel"], "--view: kernel"),
        (["show", "sinusoidal", "--positions", "1", "2", "01"], "--positions: 1"),
        (["audit", "rope", "rope"], "ENCODING: rope"),
        (["verdict", "nope", "--tables", "copy", "copy"], "--tables: copy"),
        (["verdict", "nope", "--against", "rope", "rope"], "--against: rope"),
        (["report", "a", "./a", "--output", "c"], "DIR: a"),
        (["data", "add", "x", "--text", "a.txt", "b/../a.txt"], "--text: b/../a.txt"),
        (["data", "add", "x", "--jsonl", "a", "--validation", "v", "v"], "--validation: v"),
    ],
)
def test_a_value_is_given_once(tmp_path, monkeypatch, refusal, command, name):
    monkeypatch.chdir(tmp_path)
    assert refusal(*command) == f"posenc: {name} is given twice: name each once\n"
    assert list(tmp_path.iterdir()) == []
