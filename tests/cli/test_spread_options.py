"""``posenc ablate --local`` and ``--slurm``: what they take and refuse."""

import pytest

from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.spread import Spread, minutes, read_spread


def test_the_options_are_told_from_overrides():
    rest = ["--training.steps", "4", "--directory", "x"]
    assert read_spread(rest) == Spread(None, None, None, rest)
    assert read_spread(["--local", "3", *rest]) == Spread(3, None, None, rest)
    words = ["--slurm", "--partition", "gpu", *rest, "--gpus=2", "--cpus", "4", "--time", "1-12", "--parallel", "9"]
    asked = {"partition": "gpu", "gpus": 2, "cpus": 4, "minutes": 36 * 60, "parallel": 9}
    assert read_spread(words) == Spread(None, asked, None, rest)
    assert read_spread(["--slurm"]).slurm == {}
    assert read_spread(["--group", "a/group-000"]).group == "a/group-000"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--local", "0"], "argument --local: '0' must be a number from 1 to 65536"),
        (["--local", "2", "--slurm"], "argument --slurm: not allowed with argument --local"),
        (["--gpus", "1"], "--gpus is about the tasks of --slurm: add --slurm"),
        (["--local", "2", "--time", "5"], "--time is about the tasks of --slurm: add --slurm"),
        (["--slurm", "--time", "soon"], "argument --time: 'soon' is no time: write minutes, or days-hours:minutes"),
        (["--slurm", "--time", "0"], "'0' is no time"),
        (["--slurm", "--cpus", "many"], "argument --cpus: 'many' must be a number from 1 to 65536"),
        (["--local"], "argument --local: expected one argument"),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(UsageError) as caught:
        read_spread(words)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [("90", 90), ("1:30", 2), ("0:30", 1), ("2:00:00", 120), ("1-0", 1440), ("1-2:30", 1590), ("1-2:30:01", 1591)],
)
def test_times_are_those_of_slurm(text, found):
    assert minutes(text) == found
