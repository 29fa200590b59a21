"""``--track`` on the command line."""

from __future__ import annotations

import importlib.util

import pytest

from posenc_jax.cli import main


@pytest.mark.parametrize("command", ["train", "ablate"])
def test_a_missing_package_is_one_line_and_nothing_is_written(command, capsys, tmp_path, monkeypatch):
    config = {"train": "configs/copy_rope.py", "ablate": "experiments/own_encoding/ablation.py"}[command]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    code = main([command, config, "--track", "tensorboard", "--directory", str(tmp_path / "run")])
    assert code == 2
    assert capsys.readouterr().err == (
        "posenc: --track tensorboard needs tensorboardX, which is not installed: pip install 'posenc-jax[tracking]'\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_tracker_that_does_not_exist_is_refused(capsys, tmp_path):
    assert main(["train", "configs/copy_rope.py", "--track", "mlflow", "--directory", str(tmp_path / "run")]) == 2
    assert "invalid choice 'mlflow' for argument '--track'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
