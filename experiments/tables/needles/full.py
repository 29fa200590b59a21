"""Needles at twice the context, on one accelerator: a small analogue of a language model's.

    posenc plan experiments/tables/needles/full.py --target h100
    posenc ablate experiments/tables/needles/full.py

Gelberg et al. 2025 train 494 million parameters on 16 billion tokens of text; here 14 million learn generated needles.
The model of RoPE is then measured with other frequencies, and goes on for a tenth of its steps without positions
(DroPE). Nobody has run it.
"""

import dataclasses

from experiments.tables.needles.reduced import base, from_rope
from posenc_jax import Ablation, Evaluation, Run, Training, Transformer
from posenc_jax.data.tasks import Needles
from posenc_jax.encodings import NTK, ALiBi, PositionInterpolation, RoPE, YaRN

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
CHANGED = {
    "position interpolation": (RoPE(scaling=PositionInterpolation(factor=2)),),
    "NTK": (RoPE(scaling=NTK(factor=2)),),
    "YaRN": (RoPE(scaling=YaRN(factor=2, original_length=512)),),
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
        seeds=(0, 1, 2, 3),
        learning_rates=(5e-4,),
    )
    trained = tuple(dataclasses.replace(run, label=label, posenc=slot) for label, slot in POSITIONS.items())
    return trained + from_rope(trained[0], CHANGED, steps=2000)


config = Ablation(
    name="tables-needles-full",
    runs=tuple(cell for table, task in KINDS.items() for cell in arms(table, task)),
    baseline="RoPE",
)
