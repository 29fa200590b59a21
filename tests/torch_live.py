"""A Python that has torch, for tests that compare with it live: the variable TORCH_PYTHON, or this one."""

import subprocess

import pytest
from benchmarks.torch_training import python_with


def torch_python() -> str:
    """Skips a test where there is none."""
    python = python_with()
    if python is None:
        pytest.skip("requirements.lock has no torch, which PyPI has with CUDA only (3 GB): TORCH_PYTHON names a Python")
    return python


def run_torch(program: str, *arguments: str) -> None:
    """Runs a program with torch."""
    done = subprocess.run([torch_python(), "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
