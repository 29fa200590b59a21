"""Addition beyond the digits of training, with one layer: the reduced version, for 2 cores.

    python -m experiments.tables addition
    posenc ablate experiments/tables/addition/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Trained on 1 to 3 digits, tested on 4 to 8, with one layer of d_model 128.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Addition
from posenc_jax.encodings import SHAPE, Learned, PositionCoupling

DIGITS = tuple(range(5, 15))
MAX_POSITION = 12
base = Run(
    table="addition",
    label="nope",
    task=Addition(max_length=3),
    model=Transformer(d_model=128, num_layers=1, num_heads=4, norm_type="rms"),
    optimizer=Optimizer(schedule="cosine", warmup_steps=200),
    training=Training(steps=6000, batch_size=64, microbatches=8, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(1, 2, 3, 4, 5, 6, 8), num_examples=512),
    seeds=(0, 1, 2, 3),
    learning_rates=(2e-3,),
)
coupling = PositionCoupling(digits=DIGITS, plus=4, equals=2, max_position=MAX_POSITION)
config = Ablation(
    name="tables-addition",
    runs=(
        base,
        dataclasses.replace(base, label="random start", posenc=(SHAPE(16, evaluation="none"), Learned())),
        dataclasses.replace(base, label="position coupling", posenc=(coupling, Learned())),
    ),
    baseline="nope",
)
