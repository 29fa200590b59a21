"""Indirect indexing at the size of the paper, on one accelerator.

    posenc plan experiments/tables/indirect_indexing/full.py --target h100
    posenc ablate experiments/tables/indirect_indexing/full.py

Gopalakrishnan et al. 2025: 8 layers, d_model 512, 8 heads, strings of 20 to 40 letters, shifts to 15, 100,000 steps of
64 sequences, 3 seeds. Examples are drawn without end. Nobody has run it.
"""

import dataclasses

from experiments.tables.indirect_indexing.reduced import config as reduced
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import IndirectIndexing


def enlarged(run: Run) -> Run:
    """The published setting."""
    return dataclasses.replace(
        run,
        task=IndirectIndexing(min_length=20, max_length=40, max_shift=15, num_letters=128),
        model=Transformer(d_model=512, num_layers=8, num_heads=8, norm_type="rms", dtype="bfloat16"),
        optimizer=Optimizer(schedule="cosine", final_fraction=0.1, b2=0.99, weight_decay=0.01),
        training=Training(steps=100_000, batch_size=64, steps_per_call=100, log_every=1000, checkpoint_every=10_000),
        evaluation=Evaluation(lengths=(20, 30, 40), num_examples=10_000),
        seeds=(0, 1, 2),
        learning_rates=(2e-4,),
    )


config = Ablation(
    name="tables-indirect-indexing-full", runs=tuple(map(enlarged, reduced.runs)), baseline=reduced.baseline
)
