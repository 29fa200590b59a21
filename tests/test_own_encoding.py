"""The guide to an encoding of one's own: its code, its ablation (its contract: test_pages)."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trained_runs import CONFIG

from experiments.own_encoding.gaussian import GaussianWindow
from posenc_jax.runs import own_code

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "experiments" / "own_encoding"


def test_the_guide_shows_the_file():
    docstring, _, code = (FOLDER / "gaussian.py").read_text().partition("\n\n")
    assert docstring.startswith('"""')
    assert f"```python\n{code.strip()}\n```" in (ROOT / "scripts" / "docs" / "guides" / "own-encoding.md").read_text()
    assert len(code.strip().splitlines()) <= 24


def test_this_package_is_no_code_of_the_user_in_a_checkout(tmp_path, monkeypatch):
    """There it lies in the current folder, as own code does."""
    monkeypatch.chdir(ROOT)
    config = dataclasses.replace(CONFIG, posenc=(GaussianWindow(),))
    own_code.save(config, tmp_path)
    assert [path.name for path in tmp_path.rglob("*.py")] == ["gaussian.py"]


@pytest.mark.slow
def test_posenc_ablate_trains_it(tmp_path):
    """In a folder of its own, so that nothing but the experiment's files is needed."""
    command = "import sys; from posenc_jax.cli import main; sys.exit(main(sys.argv[1:]))"
    overrides = ["--training.steps", "50", "--training.log-every", "50", "--seeds", "0"]
    overrides += ["--evaluation.lengths", "10", "--directory", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-c", command, "ablate", "experiments/own_encoding/ablation.py", *overrides],
        cwd=ROOT,
        env=os.environ | {"JAX_PLATFORMS": "cpu", "NPROC": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert {(row["label"], row["length"]) for row in rows} == {(label, 10) for label in ("nope", "alibi", "gaussian")}
