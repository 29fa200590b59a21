"""Logits scaled by log n, with RoPE and without positions, on needles, on one accelerator.

    posenc plan experiments/tables/log_scaling/full.py --target h100
    posenc ablate experiments/tables/log_scaling/full.py

The multi-key needles of experiments/tables/needles/full.py (96 to 512 tokens, here tested to 4096), with 8 seeds.
Nobody has run it.
"""

import dataclasses

from experiments.tables.log_scaling.reduced import arms
from experiments.tables.needles.full import NEEDLES
from experiments.tables.needles.full import arms as needles
from posenc_jax import Ablation, Evaluation

base = dataclasses.replace(
    needles("multi-key", NEEDLES)[0],
    evaluation=Evaluation(lengths=(256, 512, 1024, 2048, 4096), num_examples=1024),
    seeds=tuple(range(8)),
)
config = Ablation(name="tables-log-scaling-full", runs=arms(base), baseline="RoPE")
