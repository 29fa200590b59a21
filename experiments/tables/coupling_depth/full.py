"""Coupled positions with one, two and four layers, at the size of the paper, on one accelerator.

    posenc plan experiments/tables/coupling_depth/full.py --target h100
    posenc ablate experiments/tables/coupling_depth/full.py

The setting of experiments/tables/addition/full.py, that of Cho et al. 2024 but for what it says, with 8 seeds.
Nobody has run it.
"""

import dataclasses

from experiments.tables.addition.full import POSITIONS, with_layers
from experiments.tables.coupling_depth.reduced import arms
from posenc_jax import Ablation

base = dataclasses.replace(with_layers(1)[0], posenc=POSITIONS["position coupling"])
config = Ablation(name="tables-coupling-depth-full", runs=arms(base), baseline="1 layer")
