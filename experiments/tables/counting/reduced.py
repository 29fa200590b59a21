"""The value of a variable after so many statements: the reduced version, for 2 cores.

    python -m experiments.tables counting
    posenc ablate experiments/tables/counting/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Programs of 3 to 24 statements with fewer `pass`, and a model of 2 layers and d_model 64. Relative positions are Shaw's.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Counting
from posenc_jax.encodings import CoPE, Learned, Shaw
from posenc_jax.verdict.tables import full_size, table

one = Run(
    table="1 variable",
    label="absolute",
    task=Counting(min_length=3, max_length=24, num_variables=1, pass_weight=8, increment_weight=7),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, norm="post"),
    posenc=(Learned(),),
    optimizer=Optimizer(schedule="linear", warmup_steps=100),
    training=Training(steps=800, batch_size=32, microbatches=4, steps_per_call=50, log_every=100),
    evaluation=Evaluation(lengths=(8, 16, 24), num_examples=1024),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-3,),
)
three = dataclasses.replace(
    one,
    table="3 variables",
    task=dataclasses.replace(one.task, num_variables=3),
    training=dataclasses.replace(one.training, steps=1500),
)


def arms(run: Run) -> tuple[Run, ...]:
    positions = {"absolute": Learned(), "relative": Shaw(), "CoPE": CoPE()}
    return tuple(dataclasses.replace(run, label=label, posenc=(element,)) for label, element in positions.items())


config = Ablation(name="tables-counting", runs=(*arms(one), *arms(three)), baseline="absolute")

verdict = (
    table(
        "counting",
        three,
        full_size(
            Counting(num_variables=3),
            Transformer(d_model=256, num_layers=4, num_heads=4, norm="post", dtype="bfloat16"),
            15_000,
            64,
            (64, 128, 256, 384, 512),
            num_examples=2048,
        ),
        question="the value of one of three variables after so many statements",
        source="Golovneva et al. 2024",
        not_a_test="at this size",
    ),
)
