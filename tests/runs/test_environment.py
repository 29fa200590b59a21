"""What is recorded of code and machine, and when bits may be called the same."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from trained_runs import CONFIG, Notes, copy_of_the_run

import posenc_jax
from posenc_jax.runs import cell as cell_module
from posenc_jax.runs.cell import run
from posenc_jax.runs.environment import DECIDING, code, differences, environment, threads
from posenc_jax.runs.errors import RefusedError

PACKAGE = Path(posenc_jax.__file__).parent
SHOW = "import json; from posenc_jax.runs.environment import environment; print(json.dumps(environment()))"


def shown(path, *flags, **variables):
    found = subprocess.run(
        [sys.executable, *flags, "-c", SHOW],
        env={**os.environ, "PYTHONPATH": str(path), **variables},
        capture_output=True,
        text=True,
        cwd="/",
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def git(folder, *arguments):
    names = ("-c", "user.email=a@b", "-c", "user.name=x")
    found = subprocess.run(["git", "-C", str(folder), *names, *arguments], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def test_the_commit_is_of_this_project_and_never_of_one_that_encloses_it(tmp_path):
    site = tmp_path / "project" / ".venv" / "lib"
    shutil.copytree(PACKAGE, site / "posenc_jax", ignore=shutil.ignore_patterns("__pycache__"))
    git(tmp_path, "init", "project")
    git(tmp_path / "project", "commit", "--allow-empty", "-m", "of somebody else")
    record = shown(site)
    assert (record["commit"], record["dirty"]) == (None, None)
    assert record["source"] == code()["source"]
    assert record["version"] == posenc_jax.__version__

    clone = tmp_path / "clone"
    shutil.copytree(site / "posenc_jax", clone / "posenc_jax")
    git(tmp_path, "init", "clone")
    git(clone, "add", ".")
    git(clone, "commit", "-m", "all of it")
    record = shown(clone)
    assert (record["commit"], record["dirty"]) == (git(clone, "rev-parse", "HEAD"), False)
    with (clone / "posenc_jax" / "files.py").open("a") as file:
        file.write("# changed\n")
    changed = shown(clone)
    assert (changed["commit"], changed["dirty"]) == (record["commit"], True)
    assert changed["source"] != record["source"]


def test_a_package_that_is_not_installed_has_a_version(tmp_path):
    """From a checkout on the path: nothing is asked of the metadata of an installation."""
    (tmp_path / "posenc_jax").symlink_to(PACKAGE)
    hide = """
import importlib.metadata as metadata
real = metadata.version
def version(name):
    if "posenc" in name:
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.version = version
"""
    (tmp_path / "sitecustomize.py").write_text(hide)
    assert shown(tmp_path)["version"] == posenc_jax.__version__


def test_what_decides_bits_is_recorded():
    record = environment() | {"mode": "map"}
    assert set(DECIDING) <= set(record)
    for name in DECIDING:
        assert differences(record, {**record, name: "other"}) == [
            f"{name}: {record[name] if name != 'source' else record[name][:12] + '...'} -> other"
        ]
    assert differences(record, {**record, "commit": "other", "python": "other"}) == []


def test_threads_without_affinity(monkeypatch):
    monkeypatch.delenv("NPROC", raising=False)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # as on macOS
    assert threads() == os.cpu_count()


def test_threads_as_asked_for(monkeypatch):
    monkeypatch.setenv("NPROC", "3")
    assert threads() == 3
    monkeypatch.setenv("NPROC", "")  # as if unset, as XLA reads it
    assert threads() >= 1
    for odd in ("two", "0", "-1", "1.0", "100000", "99999999999999999999", "\u0663"):
        monkeypatch.setenv("NPROC", odd)
        with pytest.raises(RefusedError, match=r"NPROC = .* must be a number of threads, from 1 to 1024"):
            threads()


def test_new_seeds_under_other_code_are_noted_and_not_called_exact(tmp_path, monkeypatch):
    directory = copy_of_the_run(tmp_path / "run")
    before = (directory / "group-000" / "result.json").read_bytes()
    other = {**cell_module.environment(), "source": "f" * 64, "commit": "e" * 40}
    monkeypatch.setattr(cell_module, "environment", lambda: other)
    reporter = Notes()
    results = run(dataclasses.replace(CONFIG, seeds=(0, 1, 2)), directory, reporter=reporter)
    assert [result["bit_exact"] for result in results] == [True, False]
    (note,) = [text for text in reporter.notes if "elsewhere" in text]
    assert note.startswith("group-000, beside group-001, began elsewhere, its result will be marked bit_exact=false")
    assert "source: " in note
    assert (directory / "group-000" / "result.json").read_bytes() == before
