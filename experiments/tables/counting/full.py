"""Counting at the size of the paper, on one accelerator.

    posenc plan experiments/tables/counting/full.py --target h100
    posenc ablate experiments/tables/counting/full.py

Golovneva et al. 2024: 4 layers, d_model 256, 4 heads, post-norm, dropout 0.1, programs of 3 to 512 statements, learning
rate 7e-5; 100 epochs of 10,000 programs in batches of 64 are 15,625 steps, here of new programs each. Nobody has run
it.
"""

import dataclasses

from experiments.tables.counting.reduced import config as reduced
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Counting


def enlarged(run: Run) -> Run:
    """The published setting."""
    return dataclasses.replace(
        run,
        task=Counting(num_variables=run.task.num_variables),
        model=Transformer(d_model=256, num_layers=4, num_heads=4, norm="post", dropout=0.1, dtype="bfloat16"),
        optimizer=Optimizer(schedule="constant"),
        training=Training(steps=15_625, batch_size=64, steps_per_call=125, log_every=625, checkpoint_every=3125),
        evaluation=Evaluation(lengths=(64, 128, 256, 384, 512), num_examples=2000),
        seeds=(0, 1, 2),
        learning_rates=(7e-5,),
    )


config = Ablation(name="tables-counting-full", runs=tuple(map(enlarged, reduced.runs)), baseline=reduced.baseline)
