"""Does a small model take position 5 for 68? The reduced version, for 2 cores.

    posenc ablate experiments/periodicity/small.py
    python -m experiments.periodicity.excess runs/periodicity-small

96 positions, 4 seeds (8 for token_back, whose seeds differ most), budgets at which plain sinusoidal models are neither
at chance nor perfect.
"""

from experiments.periodicity.grid import BASELINE, arm, base_arms, budget_arms, centre, encoding_arms, noise_arms
from posenc_jax import Ablation
from posenc_jax.data.tasks import PositionOf, TokenAt, TokenBack

POSITIONS = 96

naming = centre(PositionOf(length=POSITIONS), 8, steps=300, learning_rate=1e-2, table="position_of, d_model 8")
naming_64 = centre(PositionOf(length=POSITIONS), 64, steps=100, learning_rate=3e-3, table="position_of, d_model 64")
back = centre(
    TokenBack(length=POSITIONS, back=8), 8, steps=300, learning_rate=1e-2, table="token_back, d_model 8",
    seeds=tuple(range(8)), num_examples=512,
)  # fmt: skip
asking = centre(
    TokenAt(length=POSITIONS, num_symbols=4, queries=POSITIONS), 8, steps=1500, learning_rate=1e-2,
    table="token_at, d_model 8", batch_size=8, num_examples=512,
)  # fmt: skip

config = Ablation(
    name="periodicity-small",
    title="Does position 5 look like position 68 to a trained model?",
    description="Tasks that need positions, around d_model 8; see experiments/periodicity/README.md.",
    runs=(
        naming,
        *encoding_arms(
            naming,
            (
                *("tensor2tensor", "nope", "learned", "learned_fourier", "trained frequencies"),
                *("low_side_lobes", "cosine_density", "rope"),
            ),
        ),
        *base_arms(naming, (1e3, 1e5)),
        *(run for run in noise_arms(naming) if run.label in ("bfloat16", "scale 0.3", "dropout 0.1")),
        arm(naming, "2 layers", num_layers=2),
        *budget_arms(naming, (150, 600, 1200)),
        arm(naming, "d_model 16", d_model=16),
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
