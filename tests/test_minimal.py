"""The example of one file runs as its page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "experiments" / "minimal" / "copy_row.py"


def test_the_example_is_short():
    lines = FILE.read_text().partition('"""\n\n')[2].splitlines()
    assert len([line for line in lines if line.strip()]) <= 60
    assert f"python {FILE.relative_to(ROOT)} rope" in FILE.with_name("README.md").read_text()


@pytest.mark.slow
def test_it_learns_what_it_was_trained_for():
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, FILE, "rope"], capture_output=True, text=True, env=environment, check=True)
    shares = dict(re.findall(r"rows of (\d+) tokens: ([\d.]+) copied right", done.stdout))
    assert list(shares) == ["8", "10", "16"]
    assert float(shares["8"]) > 0.95
