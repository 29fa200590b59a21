"""Arrows on a grid at the size of the paper, on one accelerator.

    posenc plan experiments/tables/arrow_grid/full.py --target h100
    posenc ablate experiments/tables/arrow_grid/full.py

Ostmeier et al. 2024: 9 x 9 cells with 8 arrows and 6 letters, 85 million parameters, 800,000 examples. Cells are tokens
here, pictures there; batch, learning rates and seeds are ours. Larger grids show what generalises. Nobody has run it.
"""

import dataclasses

from experiments.tables.arrow_grid.reduced import config as reduced
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import ArrowGrid


def enlarged(run: Run) -> Run:
    """The published grid, and a model of 85 million parameters."""
    return dataclasses.replace(
        run,
        task=ArrowGrid(size=9, num_arrows=8, num_letters=6),
        model=Transformer(d_model=768, num_layers=12, num_heads=12, dtype="bfloat16"),
        optimizer=Optimizer(schedule="cosine", warmup_steps=500),
        training=Training(steps=6250, batch_size=128, steps_per_call=50, log_every=250, checkpoint_every=1250),
        evaluation=Evaluation(lengths=(9, 11, 13), num_examples=4096),
        seeds=(0, 1, 2),
        learning_rates=(1e-4, 3e-4),
    )


config = Ablation(name="tables-arrow-grid-full", runs=tuple(map(enlarged, reduced.runs)), baseline=reduced.baseline)
