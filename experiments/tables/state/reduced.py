"""Parity with one layer, and the value two assignments back: the reduced version, for 2 cores.

    python -m experiments.tables state
    posenc ablate experiments/tables/state/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Parity of up to 32 elements instead of 128; recall among 4 keys in 48 tokens instead of 32 in 768.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import RepeatedRecall, WordProblem
from posenc_jax.encodings import FoX, PaTH, RoPE, SelectiveRoPE, StickBreaking
from posenc_jax.verdict.tables import full_size, table

parity = Run(
    table="parity",
    label="RoPE",
    task=WordProblem(group="s2", min_length=2, max_length=32),
    model=Transformer(d_model=64, num_layers=1, num_heads=4),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=3000, batch_size=32, microbatches=2, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(16, 24, 32, 40, 48), num_examples=512),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-3,),
)
recall = Run(
    table="MQRAR-2",
    label="FoX",
    task=RepeatedRecall(min_length=48, max_length=48, vocabulary=32, num_pairs=4, back=2),
    model=Transformer(d_model=64, num_layers=2, num_heads=2),
    posenc=(FoX(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=3000, batch_size=16, microbatches=4, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(48,), num_examples=512),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-3,),
)


def arm(run, label, *posenc):
    return dataclasses.replace(run, label=label, posenc=posenc)


config = Ablation(
    name="tables-state",
    runs=(
        parity,
        arm(parity, "NoPE"),
        arm(parity, "Selective RoPE", SelectiveRoPE()),
        recall,
        arm(recall, "stick-breaking", StickBreaking()),
        arm(recall, "PaTH", PaTH()),
    ),
    baseline="RoPE",
)

verdict = (
    table(
        "parity",
        dataclasses.replace(parity, evaluation=Evaluation(lengths=(8, 16, 24, 32), num_examples=512)),
        full_size(
            dataclasses.replace(parity.task, max_length=128),
            dataclasses.replace(parity.model, d_model=128),
            20_000,
            128,
            (32, 64, 96, 128),
            num_examples=2048,
        ),
        question="the parity of so many bits, with one layer",
        source="Movahedi et al. 2025",
        not_a_test="at this size",
    ),
)
