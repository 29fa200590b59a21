"""Nothing in the folder that a command is started in, or that it is told to read, runs unasked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_jax.cli import main

ROOT = Path(__file__).parents[2]
NAMES = (
    *("typing", "signal", "difflib", "numpy", "jax", "flax", "orbax"),
    *("filelock", "safetensors", "tensorflow", "tyro"),
)
CONFIG = """
import dataclasses
from posenc_jax import Evaluation, Run, Training, tasks
from posenc_jax.encodings import PositionalEncoding

@dataclasses.dataclass(frozen=True)
class Plain(PositionalEncoding):
    name = "plain"
    paper = citation = ""

    def embed(self, params, x, sequence):
        return x

config = Run(task=tasks.EvenPairs(), posenc=(Plain(),), evaluation=Evaluation(lengths=(8,)))
"""


def posenc(*arguments, cwd):
    """The command as `python -m posenc_jax`, with this package on the path and the current folder before it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "posenc_jax", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def planted(folder: Path, names=NAMES) -> Path:
    for name in names:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write({name!r})\nraise SystemExit(3)\n")
    return folder / "ran"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--version"], marks=pytest.mark.slow),
        ["evaluate", "."],
        pytest.param(["weights", "export", ".", "x.safetensors"], marks=pytest.mark.slow),
    ],
)
def test_modules_in_the_folder_of_a_run_are_not_imported(tmp_path, arguments):
    ran = planted(tmp_path)
    done = posenc(*arguments, cwd=tmp_path)
    assert done.returncode == (0 if arguments == ["--version"] else 2), done.stderr
    assert done.stderr.count("\n") == done.returncode // 2
    assert not ran.exists()


def test_beside_a_config_installed_packages_come_first_and_own_files_are_found(tmp_path):
    ran = planted(tmp_path, [name for name in NAMES if name != "tensorflow"])
    (tmp_path / "mine.py").write_text("VALUE = (8,)\n")
    (tmp_path / "run.py").write_text(CONFIG.replace("import dataclasses", "import dataclasses, jax, mine", 1))
    done = posenc("train", "run.py", "--training.steps", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "training.steps = 0 must be at least 1" in done.stderr
    assert not ran.exists()


@pytest.mark.parametrize("name", ["jax.py", "json.py", "optax.py"])
def test_a_config_called_like_an_installed_module_is_refused(tmp_path, monkeypatch, refusal, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(CONFIG)
    assert f"{name} is called like an installed module, which it would hide: rename it" in refusal("train", name)


@pytest.fixture(scope="module")
def claimed(tmp_path_factory):
    """The directory of a run with an encoding of its own, as its config was claimed, by another process."""
    tmp_path = tmp_path_factory.mktemp("trust")
    (tmp_path / "own_run.py").write_text(CONFIG)
    code = (
        "import own_run; from pathlib import Path; from posenc_jax.runs.identity import claim; Path('run').mkdir(); "
        "claim(Path('run'), own_run.config)"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tmp_path / "run"


@pytest.fixture
def run(claimed, tmp_path, monkeypatch):
    """A copy of it, in a process that never saw its class."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield Path(shutil.copytree(claimed, tmp_path / "copied" / "run"))
    sys.modules.pop("own_run", None)


COMMANDS = [
    ["evaluate", "RUN"],
    ["weights", "export", "RUN", "x.safetensors"],
    ["translate", "RUN", "One."],
    ["show", "--run", "RUN"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_class_of_a_run_is_run_only_when_the_run_is_trusted(run, capsys, refusal, monkeypatch, command):
    arguments = [str(run) if word == "RUN" else word for word in command]
    err = refusal(*arguments)
    assert f"{run} needs own_run.py:Plain, which it brought along, and no file of a run is run unasked" in err
    assert f"say --trust {run}" in err
    assert "own_run" not in sys.modules
    assert main([*arguments, "--trust", str(run)]) == 2  # nothing is trained there
    err = capsys.readouterr().err
    (copy,) = run.rglob("own_run.py")
    assert f"running what {run} brought along: {copy} (sha256 " in err
    assert "not finished" in err or "not about text" in err
    assert "own_run" in sys.modules


def test_what_is_no_run_cannot_be_trusted(run, capsys):
    assert main(["evaluate", str(run), "--trust", "nowhere"]) == 2
    assert "--trust nowhere: there is no run, for it has no config.json" in capsys.readouterr().err
    config = json.loads((run / "config.json").read_text())
    assert list(config["code"]) == ["own_run.py:Plain"]
