"""The example of one file runs as its page says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "experiments" / "minimal" / "copy_row.py"
PAGE = FILE.with_name("README.md").read_text()
SPECS = re.findall(r'`"?([^`"]+)"?`', PAGE.partition("as `posenc list` has them:")[2].partition("\n")[0])


def test_the_example_is_short():
    lines = FILE.read_text().partition('"""\n\n')[2].splitlines()
    assert len([line for line in lines if line.strip()]) <= 60
    assert f"python {FILE.relative_to(ROOT)} rope" in PAGE


@pytest.mark.parametrize("spec", SPECS)
def test_it_runs_with_the_encodings_that_its_page_names(spec, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(FILE), spec])
    names = {}
    exec(FILE.read_text().partition("state = optimizer.init")[0], names)
    tokens = np.ones((2, 7), int)
    assert jax.eval_shape(names["logits"], names["params"], tokens, jax.random.key(0)).shape == (2, 7, 16)


@pytest.mark.slow
def test_it_learns_what_it_was_trained_for():
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, FILE, "rope"], capture_output=True, text=True, env=environment, check=True)
    shares = dict(re.findall(r"rows of (\d+) tokens: ([\d.]+) copied right", done.stdout))
    assert list(shares) == ["8", "10", "16"]
    assert float(shares["8"]) > 0.95
