"""``posenc ablate --executor``: what its tasks are told."""

from pathlib import Path

import pytest

from posenc_jax.cli import main, spread
from posenc_jax.runs import ablation, executors
from posenc_jax.training.layout import Devices

CONFIG = """
from posenc_jax import Ablation, Run, tasks

config = Ablation("tiny", (Run(task=tasks.Copying(max_length=3)),))
"""


@pytest.mark.parametrize("place", ["", "--directory out", "--directory=out --track tensorboard --seeds 0"])
@pytest.mark.parametrize("where", ["--executor local --parallel 3", "--executor slurm --cpus 1 --time 90"])
def test_a_task_is_told_what_the_command_was_told(monkeypatch, tmp_path, place, where):
    """Whatever stands on the command line: a task reads it as the command did, and has the same directory."""
    monkeypatch.chdir(tmp_path)
    Path("tiny.py").write_text(CONFIG)
    asked, told, ran = [], {}, []
    monkeypatch.setattr(executors, "check_slurm", lambda: None)
    for name in ("run_here", "run_on_slurm"):
        monkeypatch.setattr(executors, name, lambda commands, *more: told.update(commands) or ran.append(more))
    monkeypatch.setattr(spread, "_devices_here", lambda: Devices(3, "cpu"))

    def launch(config, directory, *, launch, devices, **_):
        asked.append((config, directory))
        launch(["a/group-000"], print)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "results.jsonl").touch()

    monkeypatch.setattr("posenc_jax.runs.spread.ablate_in_tasks", launch)
    monkeypatch.setattr(
        "posenc_jax.runs.spread.run_task", lambda config, directory, *_, **__: asked.append((config, directory))
    )
    assert main(["ablate", "tiny.py", *place.split(), *where.split()]) == 0
    (command,) = told.values()
    assert command[-2:] == ["--group", "a/group-000"]
    assert main(command) == 0
    assert asked[0] == asked[1]
    if "slurm" in where:
        assert ran[0][0] == {"time": 90, "array_parallelism": 256, "cpus_per_task": 1}


def test_without_an_executor_groups_run_here():
    assert spread.runner(spread.Spread(), [], Path(), None, None) is ablation.ablate
