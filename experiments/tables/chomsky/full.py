"""The Chomsky tasks with randomized positions at the size of the paper, on one accelerator.

    posenc plan experiments/tables/chomsky/full.py --target h100
    posenc ablate experiments/tables/chomsky/full.py

Zheng et al. 2024: 5 layers, 8 heads, d_model 256, 200,000 steps, lengths 1 to 40, tested on 41 to 500, positions from
2048. Batch, learning rate and seeds are ours: the source at hand does not tell theirs. Nobody has run it.
"""

import dataclasses

from experiments.tables.chomsky.reduced import POSITIONS
from experiments.tables.chomsky.reduced import even_pairs as reduced
from posenc_jax import Ablation, Evaluation, Execution, Run, Training, Transformer
from posenc_jax.data.tasks import (
    BucketSort,
    CycleNavigation,
    DuplicateString,
    EvenPairs,
    ModularArithmetic,
    ModularArithmeticBrackets,
    ParityCheck,
    ReverseString,
    SolveEquation,
    SquareRoot,
    Task,
)
from posenc_jax.encodings import Randomized

TASKS: tuple[Task, ...] = (
    EvenPairs(max_length=40),
    ModularArithmetic(max_length=40),
    ParityCheck(max_length=40),
    CycleNavigation(max_length=40),
    ReverseString(max_length=40),
    ModularArithmeticBrackets(max_length=40),
    SolveEquation(max_length=40),
    DuplicateString(max_length=40),
    SquareRoot(max_length=40),
    BucketSort(max_length=40),
)


def arms(task: Task) -> tuple[Run, ...]:
    """A cell for each encoding."""
    run = dataclasses.replace(
        reduced,
        table=task.name,
        task=task,
        model=Transformer(d_model=256, num_layers=5, num_heads=8),
        training=Training(steps=200_000, batch_size=128, steps_per_call=200, log_every=2000, checkpoint_every=20_000),
        evaluation=Evaluation(lengths=(20, 39, 41, *range(55, 501, 40)), num_examples=512, draws=16),
        execution=Execution(mode="vmap"),
        seeds=(0, 1, 2, 3),
        learning_rates=(1e-4, 3e-4),
    )
    return tuple(
        dataclasses.replace(run, label=label, posenc=(Randomized(max_position=2048), *slot))
        for label, slot in POSITIONS.items()
    )


config = Ablation(
    name="tables-chomsky-full", runs=tuple(cell for task in TASKS for cell in arms(task)), baseline="RoPE"
)
