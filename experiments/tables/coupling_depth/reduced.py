"""Coupled positions with one, two and four layers: the reduced version, for 2 cores.

    python -m experiments.tables coupling_depth
    posenc ablate experiments/tables/coupling_depth/reduced.py

What is expected: directions.toml; what came out, and how long it took: the README.

Sums of 1 to 3 digits in training, of 4 to 8 in the test. The setting is that of experiments/tables/addition.
"""

import dataclasses

from experiments.tables.addition.reduced import base as addition
from experiments.tables.addition.reduced import coupling
from posenc_jax import Ablation, Run
from posenc_jax.encodings import Learned

DEPTHS = (1, 2, 4)
base = dataclasses.replace(addition, posenc=(coupling, Learned()), seeds=tuple(range(8)))


def arms(run: Run) -> tuple[Run, ...]:
    """One run for each depth."""
    return tuple(
        dataclasses.replace(
            run,
            label=f"{depth} layers" if depth > 1 else "1 layer",
            model=dataclasses.replace(run.model, num_layers=depth),
        )
        for depth in DEPTHS
    )


config = Ablation(name="tables-coupling-depth", runs=arms(base), baseline="1 layer")
