"""Logits scaled by log n, with RoPE and without positions, on needles: the reduced version, for 2 cores.

    python -m experiments.tables log_scaling
    posenc ablate experiments/tables/log_scaling/reduced.py

What is expected: directions.toml; what came out, and how long it took: the README.

Haystacks of 12 to 32 tokens with two keys in training, of 48 to 128 in the test. The setting is that of
experiments/tables/needles. Within the longest training sequence log n scaling changes nothing.
"""

import dataclasses

from experiments.tables.needles.reduced import base as needles
from posenc_jax import Ablation, Run
from posenc_jax.encodings import LogScaling, RoPE

base = dataclasses.replace(
    needles,
    table="two keys",
    evaluation=dataclasses.replace(needles.evaluation, lengths=(16, 32, 48, 64, 96, 128)),
    seeds=tuple(range(8)),
)


def arms(run: Run) -> tuple[Run, ...]:
    """RoPE and no positions, each with and without log n scaling from the longest training sequence on."""
    scaling = LogScaling(training_length=run.task.width(max(run.task.train_lengths)))
    slots = {"RoPE": (RoPE(),), "RoPE, log n": (scaling, RoPE()), "NoPE": (), "NoPE, log n": (scaling,)}
    return tuple(dataclasses.replace(run, label=label, posenc=slot) for label, slot in slots.items())


config = Ablation(name="tables-log-scaling", runs=arms(base), baseline="RoPE")
