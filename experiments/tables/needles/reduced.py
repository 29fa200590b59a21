"""Needles at twice the context, before and after a change of positions: the reduced version, for 2 cores.

    posenc tables needles
    posenc ablate experiments/tables/needles/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Haystacks of 12 to 32 tokens in training, 64 in the test.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Needles
from posenc_jax.encodings import ALiBi, RoPE

base = Run(
    table="multi-key",
    label="RoPE",
    task=Needles(min_length=12, max_length=32, num_keys=2, value_digits=1, num_key_names=8, num_fillers=8),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, norm_type="rms"),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=6000, batch_size=64, microbatches=8, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(16, 32, 48, 64), num_examples=512),
    seeds=(0, 1, 2, 3),
    learning_rates=(3e-3,),
)
config = Ablation(
    name="tables-needles",
    runs=(
        base,
        *(
            dataclasses.replace(base, label=label, posenc=slot)
            for label, slot in {"ALiBi": (ALiBi(),), "NoPE": ()}.items()
        ),
    ),
    baseline="RoPE",
)
