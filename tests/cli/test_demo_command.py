"""The demo's scores beside those of the committed run."""

import json
from pathlib import Path

from synthetic_ablation import write_ablation

from posenc_jax.cli import ablate, main
from posenc_jax.cli.demo import COMMITTED
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation


def test_scores_stand_beside_the_committed_ones(tmp_path, printed, monkeypatch):
    write_ablation(tmp_path)
    monkeypatch.setattr(ablate, "main", lambda words: 0)
    said = printed("demo", "--directory", str(tmp_path))
    assert "0.259 [0.164, 0.385]" in said
    assert f"Committed, as in the README: {json.loads(COMMITTED.read_text())['environment']['cpu']}." in said
    other = printed("demo", "--directory", str(tmp_path), "--seeds", "0")
    assert "Committed" not in other  # the committed run has other settings


def test_the_names_in_its_log_are_explained_first(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(ablate, "main", lambda words: 1)
    assert main(["demo", "--directory", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "Task rsc: to copy one token as often as it is repeated, trained on 2 to 8 times. nope: no positions.\n"
    )
    (task,) = {run.task for run in load_config("configs/demo.py", Ablation, "ablate").runs}
    assert (task.kind, task.min_length, task.max_length) == ("rsc", 2, 8)


def test_how_far_a_seed_moves_on_another_processor_is_that_of_the_records():
    """The code of both records gives the same bits on one machine, as their page says."""
    records = COMMITTED, COMMITTED.with_name("before.json")
    now, before = (json.loads(file.read_text())["tables"]["rsc"]["seeds"] for file in records)
    moved = {label: max(abs(now[label][s] - before[label][s]) for s in now[label]) for label in now.keys() & before}
    most = f"{max(moved.values()):.2f}"
    assert max(moved, key=moved.get) == "t5"
    assert f"a seed has moved by {most}" in Path("posenc_jax/cli/demo.py").read_text()
    assert f"[a seed has moved by {most}]" in Path("README.md").read_text()
    said = Path("scripts/docs/reliability.md").read_text()
    assert f"T5 on the demo's task has moved by {most}, and one of ALiBi by {moved['alibi']:.2f}" in said
