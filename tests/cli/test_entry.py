"""What all commands share: the version, options without a path, and an output that nobody reads."""

import os
import signal
import subprocess
import sys

import pytest

import posenc_jax
from posenc_jax.cli import main
from posenc_jax.cli.texts import LARGEST_SEED


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"posenc_jax {posenc_jax.__version__}\n"


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
def test_options_without_a_path(capsys, monkeypatch, command, options):
    monkeypatch.setenv("COLUMNS", "100")
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    for option in options:
        assert option in out
    assert "--task." not in out.partition("╭")[2]
    if command != "evaluate":
        assert f"`posenc {command} CONFIG --help` shows those of its task too" in " ".join(out.split())
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
