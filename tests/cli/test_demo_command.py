"""The demo's scores beside those of the committed run."""

import json

from synthetic_ablation import write_ablation

from posenc_jax.cli import ablate
from posenc_jax.cli.demo import COMMITTED


def test_scores_stand_beside_the_committed_ones(tmp_path, printed, monkeypatch):
    write_ablation(tmp_path)
    monkeypatch.setattr(ablate, "main", lambda words: 0)
    said = printed("demo", "--directory", str(tmp_path))
    assert "0.259 [0.164, 0.385]" in said
    assert f"Committed: {json.loads(COMMITTED.read_text())['environment']['cpu']}." in said
    other = printed("demo", "--directory", str(tmp_path), "--seeds", "0")
    assert "Committed" not in other  # the committed run has other settings
