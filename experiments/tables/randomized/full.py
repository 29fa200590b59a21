"""Randomized against plain positions at the size of the paper, on one accelerator.

    posenc plan experiments/tables/randomized/full.py --target h100
    posenc ablate experiments/tables/randomized/full.py --training.steps 10000

Ruoss et al. 2023: 5 layers, d_model 64, 8 heads, lengths 1 to 40, tested to 500, positions from 2048, three learning
rates; 2,000,000 steps, for which the override above is a beginning. Five tasks of their fifteen; seeds 0 to 9. A batch
has one length, drawn uniformly at each step, as theirs: their curriculum, which does not grow. Nobody has run it.
"""

import dataclasses

from experiments.tables.randomized.reduced import even_pairs as reduced
from posenc_jax import Ablation, Evaluation, Execution, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import (
    BucketSort,
    CycleNavigation,
    EvenPairs,
    MissingDuplicateString,
    ReverseString,
    Task,
)
from posenc_jax.encodings import ALiBi, Learned, Randomized, RoPE, Sinusoidal, TransformerXL

POSITIONS = {
    "sinusoidal": Sinusoidal(),
    "rope": RoPE(),
    "alibi": ALiBi(),
    "relative": TransformerXL(),
    "learned": Learned(),
}
PER_LAYER = ("rope", "alibi", "relative")  # drawn anew in each layer, as in the paper

even_pairs = dataclasses.replace(
    reduced,
    task=EvenPairs(max_length=40),
    model=Transformer(
        d_model=64,
        num_layers=5,
        num_heads=8,
        mlp_dim=256,
        norm="post",
        activation="relu",
        dropout=0.1,
        attention_bias=False,
    ),
    optimizer=Optimizer(schedule="constant"),
    training=Training(steps=2_000_000, batch_size=128, steps_per_call=500, log_every=10_000, checkpoint_every=100_000),
    evaluation=Evaluation(lengths=(20, 40, *range(41, 501, 27)), num_examples=512, draws=16),
    execution=Execution(mode="vmap"),
    seeds=tuple(range(10)),
    learning_rates=(1e-4, 3e-4, 5e-4),
)


def on(task: Task) -> Run:
    """The same run on another task."""
    return dataclasses.replace(even_pairs, table=task.name, task=task)


def arms(run: Run) -> tuple[Run, ...]:
    """Every encoding, plain and with randomized positions."""
    found = [dataclasses.replace(run, label="nope", posenc=())]
    for label, element in POSITIONS.items():
        redraw = "layer" if label in PER_LAYER else "forward"
        found.append(dataclasses.replace(run, label=label, posenc=(element,)))
        randomized = (Randomized(max_position=2048, redraw=redraw), element)
        found.append(dataclasses.replace(run, label=f"randomized {label}", posenc=randomized))
    return tuple(found)


TASKS = (
    EvenPairs(max_length=40),
    BucketSort(max_length=40),
    MissingDuplicateString(max_length=40),
    ReverseString(max_length=40),
    CycleNavigation(max_length=40),
)
config = Ablation(
    name="tables-randomized-full", runs=tuple(cell for task in TASKS for cell in arms(on(task))), baseline="sinusoidal"
)
