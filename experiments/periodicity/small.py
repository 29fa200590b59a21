"""Does a small model take position 5 for 68? The reduced version, for 2 cores.

    posenc ablate experiments/periodicity/small.py
    python -m experiments.periodicity.excess runs/periodicity-small

96 positions; 8 seeds for the arms that answer the question, 4 for the others; budgets at which plain sinusoidal models
are neither at chance nor perfect.

Accuracy of `position_of` at d_model 8 from 0.010 (NoPE) over 0.686 (sinusoidal) to 1.000 (1200 steps).
"""

import dataclasses

from experiments.periodicity.grid import BASELINE, arm, base_arms, budget_arms, centre, encoding_arms, noise_arms
from posenc_jax import Ablation, Run
from posenc_jax.data.tasks import PositionOf, TokenAt, TokenBack

POSITIONS, SEEDS = 96, tuple(range(8))

naming = centre(
    PositionOf(length=POSITIONS), 8, steps=300, learning_rate=1e-2, table="position_of, d_model 8", seeds=SEEDS
)
fewer = dataclasses.replace(naming, seeds=SEEDS[:4])
naming_64 = centre(PositionOf(length=POSITIONS), 64, steps=100, learning_rate=3e-3, table="position_of, d_model 64")
back = centre(
    TokenBack(length=POSITIONS, back=8),
    8,
    steps=300,
    learning_rate=1e-2,
    table="token_back, d_model 8",
    seeds=SEEDS,
    num_examples=512,
)
asking = centre(
    TokenAt(length=POSITIONS, num_symbols=4, queries=POSITIONS),
    8,
    steps=1500,
    learning_rate=1e-2,
    table="token_at, d_model 8",
    seeds=SEEDS,
    batch_size=8,
    num_examples=512,
)


def wider(d_model: int, steps: int) -> Run:
    """A wider model, trained for less long: it learns faster."""
    training = dataclasses.replace(fewer.training, steps=steps)
    return arm(fewer, f"d_model {d_model}, {steps} steps", d_model=d_model, training=training)


config = Ablation(
    name="periodicity-small",
    title="Does position 5 look like position 68 to a trained model?",
    description="Tasks that need positions, around d_model 8; see experiments/periodicity/README.md.",
    runs=(
        naming,
        *encoding_arms(naming, ("tensor2tensor", "learned", "low_side_lobes")),
        *encoding_arms(fewer, ("nope", "learned_fourier", "trained frequencies", "cosine_density", "rope")),
        arm(naming, "2 layers", num_layers=2),
        *budget_arms(fewer, (150, 600, 1200)),
        *base_arms(fewer, (1e3, 1e5)),
        *(run for run in noise_arms(fewer) if run.label in ("bfloat16", "scale 0.3", "dropout 0.1")),
        wider(16, 150),
        wider(32, 100),
        naming_64,
        *encoding_arms(naming_64, ("tensor2tensor", "low_side_lobes")),
        back,
        *encoding_arms(back, ("tensor2tensor", "low_side_lobes", "rope")),
        *budget_arms(back, (250, 350)),
        asking,
        *encoding_arms(asking, ("tensor2tensor",)),
        *budget_arms(asking, (1200,)),
    ),
    baseline=BASELINE,
)
