"""Flip-flop language modelling at the size of the paper, on one accelerator.

    posenc plan experiments/tables/flip_flop/full.py --target h100
    posenc ablate experiments/tables/flip_flop/full.py

Yang et al. 2025: one layer, 2 heads, d_model 64, sequences of 512 tokens. Steps, batch and learning rates are ours: the
source at hand does not tell theirs. Nobody has run it.
"""

import dataclasses

from experiments.tables.flip_flop.reduced import config as reduced
from posenc_jax import Ablation, Evaluation, Execution, Run
from posenc_jax.data.tasks import FlipFlop


def enlarged(run: Run) -> Run:
    """The published length, and three learning rates."""
    return dataclasses.replace(
        run,
        task=FlipFlop(length=512),
        training=dataclasses.replace(run.training, steps=20_000, batch_size=32, microbatches=1, steps_per_call=100),
        evaluation=Evaluation(lengths=(512,), num_examples=30_000),
        execution=Execution(mode="vmap"),
        seeds=tuple(range(8)),
        learning_rates=(3e-4, 1e-3, 3e-3),
    )


config = Ablation(name="tables-flip-flop-full", runs=tuple(map(enlarged, reduced.runs)), baseline=reduced.baseline)
