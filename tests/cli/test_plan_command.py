"""``posenc plan``: what it prints, what it refuses, and that it writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from posenc_jax.cli import main

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def _at_home(monkeypatch, tmp_path):
    """In the repository, whose configs have the names that are asked for."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "200")


def test_a_run(printed):
    out = printed("plan", "configs/copy_rope.py", "--target", "h100:2", "--utilisation", "0.5")
    assert out.startswith("rsc rope on h100:2: 2 x NVIDIA H100 SXM 80 GB, 84.9 GB each\n")
    lines = dict(line.split("  ", 1) for line in out.splitlines() if "  " in line)
    assert lines["replicas"].strip() == "2, in 1 group of 2, on 2 of 2 devices (mode vmap)"
    assert "A replica is the model of one seed and learning rate; groups of them train one after the other." in out
    assert printed("plan", "configs/copy_rope.py").startswith("rsc rope on ")
    assert "here:" not in printed("plan", "configs/copy_rope.py")
    assert lines["parameters"].strip() == "101,969"
    assert "Time: at 50 % of 67 TFLOP/s a device in float32" in out


def test_an_ablation_with_overrides_has_a_line_for_each_cell_and_their_sum(printed):
    out = printed("plan", "experiments/own_encoding/ablation.py", "--target=v6e:4x4", "--training.steps", "100")
    assert out.startswith("3 cells on v6e:4x4: 16 x Google TPU v6e, 33.6 GB each\n")
    assert [line.split("  ")[0] for line in out.splitlines()[4:8]] == ["rsc nope", "rsc alibi", "rsc gaussian", "all"]
    assert "v6e:4x4 is 4 machines: the numbers are for one run with a process on each" in out


def test_what_does_not_fit_ends_with_what_to_lower(capsys):
    sizes = ("--training.batch-size", str(2**20), "--training.steps", "1")
    assert main(["plan", "configs/copy_rope.py", "--target", "v5e", *sizes]) == 1
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith("does not fit: rsc rope takes ")
    assert ": lower training.batch_size" in line


def test_nothing_is_written(printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed("plan", str(ROOT / "configs/copy_rope.py"), "--target", "h100")
    assert list(tmp_path.iterdir()) == []
