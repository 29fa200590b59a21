"""``posenc ablate --local`` and ``--slurm``: what they take and refuse."""

from pathlib import Path

import pytest

from posenc_jax.cli import spread
from posenc_jax.cli.ablate import override_all
from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.spread import Spread, minutes, read_spread, runner
from posenc_jax.config import Ablation, Run
from posenc_jax.data.tasks import Copying
from posenc_jax.runs import cluster, local
from posenc_jax.runs.reporter import Reporter


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
    "place",
    [(), ("--directory", "out"), ("--directory=out",), ("--directory", "out", "--track", "jsonl", "--seeds", "0")],
)
@pytest.mark.parametrize("where", ["--local 2", "--slurm --cpus 1"])
def test_a_task_is_told_what_the_command_was_told(monkeypatch, place, where):
    """Whatever stands on the command line: a task reads it as the command did, and has the same directory."""
    config, given = Ablation("tiny", (Run(task=Copying(max_length=3)),)), {}
    monkeypatch.setattr(cluster, "check_cluster", lambda: None)
    monkeypatch.setattr(cluster, "run_on_slurm", lambda commands, *_: given.update(commands))
    monkeypatch.setattr(local, "run_here", lambda commands, *_: given.update(commands))
    monkeypatch.setattr(spread, "_asked", lambda: {"count": 2, "backend": "cpu"})
    asked = read_spread([*place, *where.split()])
    runner(config, "tiny.py", Path("out"), asked, Reporter(), lambda: None).keywords["launch"](["a/group-000"], print)
    (command,) = given.values()
    task = read_spread(command[2:])
    assert (command[:2], task.group) == (["ablate", "tiny.py"], "a/group-000")
    read, told = (override_all(config, own.overrides, "posenc ablate tiny.py") for own in (asked, task))
    assert told == read


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--local", "0"], "argument --local: 0 is no whole number from 1 to 65536: choose one"),
        (["--local", "2", "--slurm"], "argument --slurm: not allowed with argument --local"),
        (["--gpus", "1"], "--gpus is about the tasks of --slurm: add --slurm"),
        (["--local", "2", "--time", "5"], "--time is about the tasks of --slurm: add --slurm"),
        (["--slurm", "--time", "soon"], "argument --time: 'soon' is no time: write minutes, or days-hours:minutes"),
        (["--slurm", "--time", "0"], "'0' is no time"),
        (["--slurm", "--cpus", "many"], "argument --cpus: many is no whole number from 1 to 65536"),
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
