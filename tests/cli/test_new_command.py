"""``posenc new``: what it writes works as it is, and nothing is overwritten."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from posenc_jax.cli import main
from posenc_jax.cli.new import class_name

KINDS = ("encoding", "task", "metric")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_written_passes_its_tests(here, capsys):
    """All three kinds, in a process of their own whose folder holds nothing else."""
    for kind in KINDS:
        assert main(["new", kind, f"my_{kind}"]) == 0
        cls = f"my_{kind}.py:My{kind.title()}"
        said = f"wrote my_{kind}.py and test_my_{kind}.py: a working {kind} to change, {cls}"
        said += f"; next: posenc audit {cls}" * (kind == "encoding")
        assert capsys.readouterr().out == f"{said}\n"
    assert sorted(path.name for path in here.iterdir()) == sorted(
        f"{start}my_{kind}.py" for kind in KINDS for start in ("", "test_")
    )
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "."],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "clause           outcome  largest error" in done.stdout  # the contract's table
    assert "gradients        passed" in done.stdout
    for path in here.glob("*.py"):
        text = path.read_text()
        ast.parse(text)
        assert "@" not in text.replace("@dataclasses", "").replace("@property", "").replace("@pytest", "")
        assert text.count("#") >= (0 if path.name.startswith("test_") else 3), "commented"


@pytest.mark.parametrize(
    ("kind", "room"), [("encoding", "encodings"), ("task", "data/tasks"), ("metric", "data/metrics")]
)
def test_what_is_written_passes_the_lint_of_the_package(here, kind, room):
    """As a file of the package, where every function has types and a docstring."""
    assert main(["new", kind, f"my_{kind}"]) == 0
    command = [sys.executable, "-m", "ruff", "check", "--extend-select=ANN001,ANN2", "-"]
    name = f"--stdin-filename=posenc_jax/{room}/my_{kind}.py"
    with Path(f"my_{kind}.py").open() as file:
        done = subprocess.run([*command, name], cwd=ROOT, stdin=file, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow  # reads the types of the package
def test_what_is_written_passes_its_types(here):
    for kind in KINDS:
        assert main(["new", kind, f"my_{kind}"]) == 0
    files = [os.fspath(here / f"my_{kind}.py") for kind in KINDS]
    command = [sys.executable, "-m", "mypy", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_names_of_classes():
    assert [class_name(name) for name in ("my_window", "window", "top_5")] == ["MyWindow", "Window", "Top5"]
