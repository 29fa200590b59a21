"""A table in miniature: two encodings, two seeds, a model of eight dimensions."""

import pytest

PUBLISHED = '''
title = "A small table"
source = "Nobody 2020"
setting = """
A larger
model.
"""

[[scores]]
name = "copying"
table = "rsc"
theirs = "% right"
scale = 0.01
[scores.values]
"nope" = 98.6
"rope" = 0.0
"shaw" = ""

[[scores]]
name = "SCAN"
table = "scan"
theirs = "% right"
[scores.values]
"nope" = 79.7
'''
DIRECTIONS = """
rule = "The one that there is."

[[direction]]
table = "rsc"
better = "nope"
worse = "rope"
published = "98.6 against 0"
"""
REDUCED = """
import dataclasses

from posenc_jax import Ablation, Evaluation, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import RoPE

run = Run(
    table="rsc",
    label="nope",
    task=Copying(min_length=2, max_length=3, num_symbols=4),
    model=Transformer(d_model=8, num_layers=1, num_heads=1),
    training=Training(steps=2, batch_size=2, steps_per_call=1, log_every=1),
    evaluation=Evaluation(lengths=(2, 4), num_examples=4),
    seeds=(0, 1),
)
config = Ablation("small", (run, dataclasses.replace(run, label="rope", posenc=(RoPE(),))), baseline="rope")
"""
README = """# A small table

<!-- written by `posenc tables`: from here -->
<!-- to here -->

The end.
"""


@pytest.fixture
def table(tmp_path, monkeypatch):
    """The folder of a table, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "experiments" / "tables" / "small"
    folder.mkdir(parents=True)
    (folder / "published.toml").write_text(PUBLISHED)
    (folder / "directions.toml").write_text(DIRECTIONS)
    (folder / "reduced.py").write_text(REDUCED)
    (folder / "README.md").write_text(README)
    return folder
