"""Where does the arrow point? Grids of five rows: the reduced version, for 2 cores.

    python -m experiments.tables arrow_grid
    posenc ablate experiments/tables/arrow_grid/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Cells are tokens; encodings of two axes are given (row, column), absolute positions count in the order of reading.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import ArrowGrid
from posenc_jax.encodings import AxialRoPE, Learned, MixedRoPE
from posenc_jax.verdict.tables import full_size, table

base = Run(
    table="arrow_grid",
    label="absolute",
    task=ArrowGrid(size=5, num_arrows=5, num_letters=3),
    model=Transformer(d_model=64, num_layers=2, num_heads=4),
    posenc=(Learned(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=2000, batch_size=32, microbatches=4, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(5,), num_examples=2048),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-3,),
)
config = Ablation(
    name="tables-arrow-grid",
    runs=(
        base,
        dataclasses.replace(base, label="axial RoPE", posenc=(AxialRoPE(),)),
        dataclasses.replace(base, label="RoPE-Mixed", posenc=(MixedRoPE(),)),
    ),
    baseline="absolute",
)

verdict = (
    table(
        "arrow_grid",
        base,
        full_size(
            ArrowGrid(size=9, num_arrows=8, num_letters=6),
            Transformer(d_model=512, num_layers=8, num_heads=8, dtype="bfloat16"),
            6000,
            128,
            (9,),
            num_examples=4096,
        ),
        question="the letter that an arrow on a grid points to, cells in the order of reading or by row and column",
        source="Ostmeier et al. 2024",
        not_a_test="between rotary encodings at this size",
    ),
)
