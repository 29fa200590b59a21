"""How many of every four layers should be without positions, in twelve layers, on one accelerator.

    posenc plan experiments/tables/nope_layers/full.py --target h100
    posenc ablate experiments/tables/nope_layers/full.py

The setting of experiments/tables/copying/full.py, that of Kazemnejad et al. 2023, with 8 seeds. Nobody has run it.
"""

import dataclasses

from experiments.tables.copying.full import rsc
from experiments.tables.nope_layers.reduced import arms
from posenc_jax import Ablation

base = dataclasses.replace(rsc, table="one repeated token", seeds=tuple(range(8)))
config = Ablation(name="tables-nope-layers-full", runs=arms(base), baseline="0 of 4 layers without")
