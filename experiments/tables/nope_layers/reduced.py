"""How many layers should be without positions? Decoders of four layers, RoPE in the first of them, for 2 cores.

    python -m experiments.tables nope_layers
    posenc ablate experiments/tables/nope_layers/reduced.py

What is expected: directions.toml; what came out, and how long it took: the README.

One repeated token is copied, 2 to 8 of them in training, 9 to 16 in the test. The setting is that of
experiments/tables/copying, with four layers instead of two.
"""

import dataclasses

from experiments.tables.copying.reduced import rsc
from posenc_jax import Ablation, Run
from posenc_jax.encodings import RoPE

PERIOD = 4
base = dataclasses.replace(
    rsc, table="one repeated token", model=dataclasses.replace(rsc.model, num_layers=PERIOD), seeds=tuple(range(8))
)


def arms(run: Run) -> tuple[Run, ...]:
    """RoPE in the first of every four layers, nothing in the others."""
    slots = {n: ((RoPE(),),) * (PERIOD - n) + ((),) * n for n in range(PERIOD + 1)}
    return tuple(
        dataclasses.replace(run, label=f"{without} of {PERIOD} layers without", posenc=slot)
        for without, slot in slots.items()
    )


config = Ablation(name="tables-nope-layers", runs=arms(base), baseline="0 of 4 layers without")
