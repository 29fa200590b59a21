"""Does a small model take position 5 for 68? The arms that the reduced version leaves out, for 2 cores.

    posenc ablate experiments/periodicity/more.py
    python -m experiments.periodicity.excess runs/periodicity-more

The same sizes and budgets as in small.py, 4 seeds: the other encodings on the task that names a position and on the one
that looks back, the outer bases, more noise, and widths up to 512.

Accuracy of `position_of` at d_model 8 from 0.010 (T5, ALiBi, scale 0.1) to 0.911 (base 1e2), of `token_back` from 0.175
(NoPE) to 1.000 (T5).
"""

import dataclasses

from experiments.periodicity.grid import BASELINE, arm, base_arms, encoding_arms, heads, noise_arms
from experiments.periodicity.small import back, naming, naming_64
from posenc_jax import Ablation

SEEDS = (0, 1, 2, 3)
naming, naming_64, back = (dataclasses.replace(run, seeds=SEEDS) for run in (naming, naming_64, back))

config = Ablation(
    name="periodicity-more",
    title="Does position 5 look like position 68? More arms",
    description="Other encodings, bases, noise and widths; see experiments/periodicity/README.md.",
    runs=(
        naming,
        *encoding_arms(naming, ("randomized sinusoidal", "rope, resonance", "rope, low_side_lobes", "t5", "alibi")),
        *base_arms(naming, (1e2, 1e6)),
        *(run for run in noise_arms(naming) if run.label in ("scale 0.1", "dropout 0.3")),
        back,
        *encoding_arms(
            back, ("nope", "learned", "randomized sinusoidal", "rope, resonance", "rope, low_side_lobes", "t5", "alibi")
        ),
        naming_64,
        *encoding_arms(naming_64, ("nope", "learned", "randomized sinusoidal")),
        *(arm(naming_64, f"d_model {width}", d_model=width, num_heads=heads(width)) for width in (128, 256, 512)),
    ),
    baseline=BASELINE,
)
