"""T5's bias on one repeated token in the published model, on one accelerator.

    posenc plan experiments/tables/t5_cell/full.py --target h100
    posenc ablate experiments/tables/t5_cell/full.py

Every cell of reduced.py with 12 layers, d_model 768, 12 heads, 40,000 steps of 64 sequences, learning rate 3e-5, 3
seeds. Examples are drawn without end, and tokens are ours. Nobody has run it.
"""

import dataclasses

from experiments.tables.t5_cell.reduced import config as reduced
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training


def enlarged(run: Run) -> Run:
    """The published sizes."""
    sizes = dict(d_model=768, num_layers=12, num_heads=12, dtype="bfloat16")
    return dataclasses.replace(
        run,
        task=dataclasses.replace(run.task, num_symbols=100),
        model=dataclasses.replace(run.model, **sizes),
        optimizer=Optimizer(schedule="linear", warmup_steps=2400, weight_decay=0.05),
        training=Training(steps=40_000, batch_size=64, steps_per_call=100, log_every=1000, checkpoint_every=4000),
        evaluation=Evaluation(lengths=(10, 20, *range(21, 41)), num_examples=100),
        seeds=(0, 1, 2),
        learning_rates=(3e-5,),
    )


config = Ablation(name="tables-t5-cell-full", runs=tuple(map(enlarged, reduced.runs)), baseline=reduced.baseline)
