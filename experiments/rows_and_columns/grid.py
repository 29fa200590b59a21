"""Four rotations by row and column: how soon does each find the cell that an arrow stands in?

    posenc ablate experiments/rows_and_columns/grid.py

Accuracy after 100 steps 0.969 (axial RoPE), 0.964 (RoPE-Mixed), 0.988 (LieRE-8), 0.952 (Spiral RoPE). What was
expected: directions.md.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import ArrowGrid
from posenc_jax.encodings import AxialRoPE, Grid, ImagePositions, Learned, LieRE, MixedRoPE, SpiralRoPE
from posenc_jax.encodings.interface.slots import Slot

ENCODINGS: dict[str, Slot] = {
    "absolute": (Learned(),),
    "axial RoPE": (AxialRoPE(),),
    "RoPE-Mixed": (MixedRoPE(),),
    # A grid of five columns makes rows and columns of the order of reading, so positions are known before a batch is,
    # and matrices are exponentiated for 25 cells, not for those of every picture.
    "LieRE-8": (Grid(width=5), ImagePositions((5, 5), to="unit"), LieRE(block=8)),
    "Spiral RoPE": (SpiralRoPE(),),
}
early = Run(
    table="100 steps",
    task=ArrowGrid(size=5, num_arrows=5, num_letters=3),
    model=Transformer(d_model=64, num_layers=2, num_heads=4),
    optimizer=Optimizer(schedule="cosine", warmup_steps=20),
    training=Training(steps=100, batch_size=32, microbatches=4, steps_per_call=50, log_every=50),
    evaluation=Evaluation(lengths=(5,), num_examples=1024),
    seeds=(0, 1, 2, 3, 4, 5, 6, 7),
    learning_rates=(1e-3,),
)
late = dataclasses.replace(
    early, table="400 steps", training=dataclasses.replace(early.training, steps=400), seeds=(0, 1, 2, 3)
)
config = Ablation(
    name="rows-and-columns",
    runs=tuple(
        dataclasses.replace(run, label=label, posenc=slot) for run in (early, late) for label, slot in ENCODINGS.items()
    ),
    baseline="axial RoPE",
)
