"""A Python that has torch, for tests that compare with it live: the variable TORCH_PYTHON, or this one."""

import importlib.util
import os
import subprocess
import sys

import pytest


def run_torch(program: str, *arguments: str) -> None:
    """Runs a program with torch; the test is skipped where there is none."""
    python = os.environ.get("TORCH_PYTHON") or (sys.executable if importlib.util.find_spec("torch") else None)
    if python is None:
        pytest.skip("no torch here: set TORCH_PYTHON to a Python that has it")
    done = subprocess.run([python, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
