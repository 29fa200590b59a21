"""Language models of widths 16, 32 and 64, for `moved.py`: between the 8 of text.py and the 128 of
experiments/language_model.

    python -m experiments.corpora.make python-docs
    posenc ablate experiments/periodicity/widths.py
    python -m experiments.periodicity.moved runs/periodicity-widths

Heads of 8 dimensions. What was expected: moved-directions.md.

Perplexity 192 (d_model 16), 156 (32) and 139 (64).
"""

import dataclasses

from experiments.periodicity.text import base as narrow
from posenc_jax import Ablation, Run


def of_width(d_model: int) -> Run:
    """The same model, wider, at a learning rate that falls with the width."""
    model = dataclasses.replace(narrow.model, d_model=d_model, num_heads=d_model // 8, mlp_dim=4 * d_model)
    return dataclasses.replace(
        narrow,
        table="python docs",
        label=f"d_model {d_model}",
        model=model,
        seeds=(0, 1, 2, 3),
        learning_rates=(8e-2 / d_model,),
    )


config = Ablation(
    name="periodicity-widths",
    title="Language models of widths 16 to 64",
    description="The documentation of Python, windows of 128 tokens; for experiments/periodicity/moved.py.",
    runs=tuple(map(of_width, (16, 32, 64))),
)
