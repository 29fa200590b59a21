"""Sinusoids without their fast, or without their slow frequencies: order of near words against that of distant ones.

    posenc ablate experiments/word_order/bands.py

Accuracy 1.000 (all, fast only), 0.999 (slow only), 0.507 (none). What was expected: directions.md.
"""

import math

import numpy as np

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Earlier
from posenc_jax.encodings import PositionalEncoding, Sinusoidal

D_MODEL = 64
TASK = Earlier(length=64, near=6, far=32)
BETWEEN = 2 * math.pi / 32
"""Radians per position: the frequency with a wavelength of ``far``. Faster ones come round before it."""


def band(fastest: float, slowest: float) -> Sinusoidal:
    """32 frequencies between the two, both included, at equal ratios as in the paper's."""
    return Sinusoidal(frequencies=tuple(np.geomspace(fastest, slowest, D_MODEL // 2).tolist()))


def cell(label: str, *posenc: PositionalEncoding) -> Run:
    """One set of frequencies, all else equal."""
    return Run(
        table="earlier",
        label=label,
        task=TASK,
        model=Transformer(d_model=D_MODEL, num_layers=2, num_heads=4),
        posenc=posenc,
        optimizer=Optimizer(schedule="cosine", warmup_steps=50),
        training=Training(steps=400, batch_size=64, microbatches=2, steps_per_call=50, log_every=50),
        evaluation=Evaluation(lengths=(TASK.length,), num_examples=2048),
        seeds=(4, 5, 6, 7, 8, 9, 10, 11),
        learning_rates=(2e-3,),
    )


config = Ablation(
    name="bands",
    title="Fast frequencies for sentences, slow ones for paragraphs?",
    description="Which of two marks stands earlier: within 6 positions, and 32 to 63 apart, in sequences of 64.",
    runs=(
        cell("all", Sinusoidal()),
        cell("fast only", band(1.0, BETWEEN)),
        cell("slow only", band(BETWEEN, 1e-4)),
        cell("none"),
    ),
    baseline="all",
)
