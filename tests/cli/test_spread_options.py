"""``posenc ablate --executor``: what it takes and refuses."""

from pathlib import Path

import pytest

from posenc_jax.cli import spread
from posenc_jax.cli.ablate import override_all
from posenc_jax.cli.errors import UsageError
from posenc_jax.cli.spread import Spread, read_spread, runner
from posenc_jax.config import Ablation, Run
from posenc_jax.data.tasks import Copying
from posenc_jax.runs import executors
from posenc_jax.runs.reporter import Reporter


def test_the_options_are_told_from_overrides():
    rest = ["--training.steps", "4", "--directory", "x"]
    assert read_spread(rest) == Spread(None, None, {}, None, rest)
    assert read_spread(["--executor", "local", *rest]) == Spread("local", None, {}, None, rest)
    words = ["--executor=slurm", "--partition", "gpu", "--gpus=2", "--cpus", "4", "--time", "90", "--parallel", "9"]
    asked = {"partition": "gpu", "gpus_per_node": 2, "cpus_per_task": 4, "time": 90}
    assert read_spread([*words, *rest]) == Spread("slurm", 9, asked, None, rest)
    assert read_spread(["--group", "a/group-000"]).group == "a/group-000"


@pytest.mark.parametrize(
    "place",
    [
        (),
        ("--directory", "out"),
        ("--directory=out",),
        ("--directory", "out", "--track", "tensorboard", "--seeds", "0"),
    ],
)
@pytest.mark.parametrize("where", ["--executor local", "--executor slurm --cpus 1"])
def test_a_task_is_told_what_the_command_was_told(monkeypatch, place, where):
    """Whatever stands on the command line: a task reads it as the command did, and has the same directory."""
    config, given = Ablation("tiny", (Run(task=Copying(max_length=3)),)), {}
    monkeypatch.setattr(executors, "check_slurm", lambda: None)
    for name in ("run_here", "run_on_slurm"):
        monkeypatch.setattr(executors, name, lambda commands, *_: given.update(commands))
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
        ("--executor local --parallel 0", "argument --parallel: 0 is no whole number from 1 to 65536: choose one"),
        ("--executor cluster", "argument --executor: invalid choice: 'cluster' (choose from"),
        ("--executor local --group a/group-000", "argument --group: not allowed with argument --executor"),
        ("--gpus 1", "--gpus needs --executor slurm"),
        ("--executor local --time 5", "--time needs --executor slurm"),
        ("--executor slurm --time 1:00:00", "argument --time: 1:00:00 is no whole number from 1 to 65536"),
        ("--parallel 2", "--parallel needs --executor local or slurm"),
        ("--local 3", "--local is written --executor local --parallel 3 now"),
        ("--slurm --gpus 1", "--slurm is written --executor slurm now"),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(UsageError) as caught:
        read_spread(words.split())
    assert message in str(caught.value)
