"""Randomized against plain positions: the reduced version, for 2 cores.

    posenc tables randomized
    posenc ablate experiments/tables/randomized/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Trained on lengths 1 to 10, tested on 12 to 40; randomized positions from 128, drawn 16 times in a test.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import BucketSort, EvenPairs
from posenc_jax.encodings import Randomized, RoPE, Sinusoidal

MAX_POSITION = 128

even_pairs = Run(
    table="even_pairs",
    label="sinusoidal",
    task=EvenPairs(max_length=10),
    model=Transformer(d_model=64, num_layers=2, num_heads=4),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="constant"),
    training=Training(steps=3000, batch_size=32, microbatches=2, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40), num_examples=512, draws=16),
    seeds=tuple(range(8)),
    learning_rates=(1e-3,),
)
bucket_sort = dataclasses.replace(
    even_pairs,
    table="bucket_sort",
    task=BucketSort(max_length=10),
    training=dataclasses.replace(even_pairs.training, steps=1000),
)


def arms(run: Run) -> tuple[Run, ...]:
    found = []
    for label, element in (("sinusoidal", Sinusoidal()), ("rope", RoPE())):
        found.append(dataclasses.replace(run, label=label, posenc=(element,)))
        randomized = (Randomized(max_position=MAX_POSITION), element)
        found.append(dataclasses.replace(run, label=f"randomized {label}", posenc=randomized))
    return tuple(found)


config = Ablation(name="tables-randomized", runs=(*arms(even_pairs), *arms(bucket_sort)), baseline="sinusoidal")
