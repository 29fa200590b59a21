"""Flip-flop language modelling: the reduced version, for 2 cores.

    python -m experiments.tables flip_flop
    posenc ablate experiments/tables/flip_flop/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Sequences of 64 tokens instead of 512; the model is the published one.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import FlipFlop
from posenc_jax.encodings import FoX, PaTH, RoPE, StickBreaking
from posenc_jax.verdict.tables import full_size, table

base = Run(
    table="flip_flop",
    label="RoPE",
    task=FlipFlop(length=64),
    model=Transformer(d_model=64, num_layers=1, num_heads=2),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=4000, batch_size=16, microbatches=2, steps_per_call=50, log_every=500),
    evaluation=Evaluation(lengths=(64,), num_examples=3072),
    seeds=tuple(range(8)),
    learning_rates=(2e-3,),
)


def arm(label, *posenc):
    return dataclasses.replace(base, label=label, posenc=posenc)


config = Ablation(
    name="tables-flip-flop",
    runs=(base, arm("stick-breaking", StickBreaking()), arm("FoX", FoX()), arm("PaTH", PaTH())),
    baseline="RoPE",
)

verdict = (
    table(
        "flip_flop",
        dataclasses.replace(base, evaluation=dataclasses.replace(base.evaluation, num_examples=768)),
        full_size(FlipFlop(length=512), base.model, 20_000, 32, (512,), num_examples=30_000),
        question="the bit that was written last, with 98 of 100 instructions to be ignored",
        source="Liu et al. 2023; Yang et al. 2025, table 1",
    ),
)
