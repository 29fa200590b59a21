"""Does a model take position 5 for 68? The grid for one accelerator.

    posenc ablate experiments/periodicity/full.py
    python -m experiments.periodicity.excess runs/periodicity-full

Three tasks, d_model 8 and 64, one factor at a time; 128 positions, 8 seeds, two layers. The same command resumes. For a
full product take arms of arms.

Not run: it needs an accelerator. An H100 takes some 7 minutes by `posenc plan`. Its small version,
experiments/periodicity/small.py, has the scores of a real run.
"""

import dataclasses

from experiments.periodicity.grid import (
    BASELINE,
    base_arms,
    budget_arms,
    centre,
    encoding_arms,
    noise_arms,
    width_arms,
)
from posenc_jax import Ablation, Run
from posenc_jax.data.tasks import PositionOf, TokenAt, TokenBack

POSITIONS = 128
SHARED = dict(
    layers=2,
    steps_per_call=25,
    seeds=tuple(range(8)),
    num_examples=4096,
)

naming, asking, back = (
    PositionOf(length=POSITIONS),
    TokenAt(length=POSITIONS, num_symbols=4, queries=POSITIONS),
    TokenBack(length=POSITIONS, back=8),
)
CENTRES = (
    centre(naming, 8, 300, 1e-2, table="position_of, d_model 8", **SHARED),
    centre(naming, 64, 100, 3e-3, table="position_of, d_model 64", **SHARED),
    centre(asking, 8, 1500, 1e-2, table="token_at, d_model 8", **SHARED),
    centre(asking, 64, 600, 3e-3, table="token_at, d_model 64", **SHARED),
    centre(back, 8, 300, 1e-2, table="token_back, d_model 8", **SHARED),
    centre(back, 64, 150, 3e-3, table="token_back, d_model 64", **SHARED),
)


def factors(run: Run) -> tuple[Run, ...]:
    """Everything that changes at one centre: the encoding, the base, precision and noise, and the training budget."""
    steps = run.training.steps
    around = (steps // 2, 2 * steps, 4 * steps, 8 * steps)
    return (run, *encoding_arms(run), *base_arms(run), *noise_arms(run), *budget_arms(run, around))


def widths(run: Run) -> tuple[Run, ...]:
    """Both conventions at every width, in a table of their own, with one budget and learning rate for all of them."""
    narrow = width_arms(run)
    other = encoding_arms(run, ("tensor2tensor",))[0]
    wide = (dataclasses.replace(arm, label=f"{arm.label}, tensor2tensor") for arm in width_arms(other))
    table = f"{run.task.name} by d_model"
    return tuple(dataclasses.replace(arm, table=table, learning_rates=(3e-3,)) for arm in (*narrow, *wide))


config = Ablation(
    name="periodicity-full",
    title="Does position 5 look like position 68 to a trained model?",
    description="Three tasks that need positions, around d_model 8 and 64; see experiments/periodicity/README.md.",
    runs=tuple(run for run in CENTRES for run in factors(run))
    + tuple(run for centre in CENTRES[::2] for run in widths(centre)),
    baseline=BASELINE,
)
