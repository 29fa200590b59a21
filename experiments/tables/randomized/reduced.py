"""Randomized against plain positions: the reduced version, for 2 cores.

    python -m experiments.tables randomized
    posenc ablate experiments/tables/randomized/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Trained on lengths 1 to 10, tested on 12 to 40; randomized positions from 128, drawn 16 times in a test.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import BucketSort, EvenPairs, ReverseString, Task
from posenc_jax.encodings import Randomized, RoPE, Sinusoidal
from posenc_jax.verdict.tables import full_size, table

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


def full(task: Task) -> Run:
    """The model of Delétang et al., lengths to 40, tested to 500; 10,000 steps instead of a million."""
    model = Transformer(d_model=64, num_layers=5, num_heads=8, mlp_dim=256)
    lengths = (10, 20, 40, *range(60, 501, 40))
    return full_size(task, model, 10_000, 128, lengths, num_examples=512, draws=16)


SOURCE = "Delétang et al. 2023; Ruoss et al. 2023"
fewer = dataclasses.replace(even_pairs.evaluation, lengths=(2, 4, 6, 8, 10, 12, 15, 20, 30, 40), num_examples=256)
verdict = (
    table(
        "even_pairs",
        dataclasses.replace(even_pairs, training=dataclasses.replace(even_pairs.training, steps=2000)),
        full(EvenPairs(max_length=40)),
        question="whether the first and the last of many tokens are equal, beyond the lengths of training",
        source=SOURCE,
        quick=True,
    ),
    table(
        "bucket_sort",
        dataclasses.replace(bucket_sort, evaluation=fewer),
        full(BucketSort(max_length=40)),
        question="tokens in order, beyond the lengths of training",
        source=SOURCE,
        quick=True,
    ),
    table(
        "reverse_string",
        dataclasses.replace(even_pairs, task=ReverseString(max_length=10), evaluation=fewer),
        full(ReverseString(max_length=40)),
        question="strings backwards, beyond the lengths of training",
        source=SOURCE,
    ),
)
