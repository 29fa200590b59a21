"""Name the letter some places from another: the reduced version, for 2 cores.

    python -m experiments.tables indirect_indexing
    posenc ablate experiments/tables/indirect_indexing/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Strings of 6 to 12 letters of 24 and shifts to 3, with a model of 2 layers and d_model 64.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import IndirectIndexing
from posenc_jax.encodings import PoPE, RoPE
from posenc_jax.verdict.tables import full_size, table

base = Run(
    table="indirect_indexing",
    label="RoPE",
    task=IndirectIndexing(min_length=6, max_length=12, max_shift=3, num_letters=24),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, norm_type="rms"),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100, b2=0.99, weight_decay=0.01),
    training=Training(steps=4000, batch_size=32, microbatches=2, steps_per_call=50, log_every=500),
    evaluation=Evaluation(lengths=(8, 12, 16, 20), num_examples=1024),
    seeds=(0, 1, 2, 3),
    learning_rates=(2e-3,),
)
config = Ablation(
    name="tables-indirect-indexing",
    runs=(base, dataclasses.replace(base, label="PoPE", posenc=(PoPE(delta_init="uniform"),))),
    baseline="RoPE",
)

verdict = (
    table(
        "indirect_indexing",
        dataclasses.replace(base, evaluation=dataclasses.replace(base.evaluation, lengths=(8, 10, 12))),
        full_size(
            IndirectIndexing(),
            Transformer(d_model=512, num_layers=8, num_heads=8, norm_type="rms", dtype="bfloat16"),
            100_000,
            64,
            (20, 30, 40),
            num_examples=2048,
        ),
        question="the letter so many places from another one",
        source="Gopalakrishnan et al. 2025, table 1",
        not_a_test="at this size",
    ),
)
