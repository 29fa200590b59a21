"""Needles at twice the context, on one accelerator: a small analogue of a language model's.

    posenc plan experiments/tables/needles/full.py --target h100
    posenc ablate experiments/tables/needles/full.py

Gelberg et al. 2025 train 494 million parameters on 16 billion tokens of text; here 14 million learn generated needles.
Other frequencies are given to the trained RoPE model afterwards:

    posenc evaluate RUN --lengths 1024 --posenc "rope(scaling=ntk(factor=2))"

with RUN the cell of RoPE. DroPE goes on from it without positions: a run with ``init_from=RUN`` and ``posenc=()``.
Nobody has run it.
"""

import dataclasses

from experiments.tables.needles.reduced import base
from posenc_jax import Ablation, Evaluation, Execution, Run, Training, Transformer
from posenc_jax.data.tasks import Needles
from posenc_jax.encodings import ALiBi, RoPE

NEEDLES = Needles(min_length=96, max_length=512, num_keys=4, value_digits=4)
KINDS = {
    "multi-key": NEEDLES,
    "multi-query": dataclasses.replace(NEEDLES, num_queries=4),
    "multi-value": dataclasses.replace(NEEDLES, num_values=4),
}
POSITIONS = {
    "RoPE": (RoPE(),),
    "ALiBi": (ALiBi(),),
    "NoPE": (),
    "RNoPE": ((RoPE(),), ()),  # every second layer without
}


def arms(table: str, task: Needles) -> tuple[Run, ...]:
    """A cell for each encoding."""
    run = dataclasses.replace(
        base,
        table=table,
        task=task,
        model=Transformer(d_model=384, num_layers=8, num_heads=6, norm_type="rms", dtype="bfloat16"),
        training=Training(steps=20_000, batch_size=64, steps_per_call=100, log_every=500, checkpoint_every=5000),
        evaluation=Evaluation(lengths=(256, 512, 1024), num_examples=1024),
        execution=Execution(mode="vmap", group_size=1),
        seeds=(0, 1, 2, 3),
        learning_rates=(5e-4,),
    )
    return tuple(dataclasses.replace(run, label=label, posenc=slot) for label, slot in POSITIONS.items())


config = Ablation(
    name="tables-needles-full",
    runs=tuple(cell for table, task in KINDS.items() for cell in arms(table, task)),
    baseline="RoPE",
)
