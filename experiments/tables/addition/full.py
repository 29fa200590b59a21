"""Addition with coupled positions at the size of the paper, on one accelerator.

    posenc plan experiments/tables/addition/full.py --target h100
    posenc ablate experiments/tables/addition/full.py

Cho et al. 2024: one layer, 4 heads, d_model 1024, 50,000 steps of 1000 sums of 1 to 30 digits, tested to 200, 8 seeds.
What is not theirs: GELU without a gate, one norm before each part, and positions up to 210, which 200 digits take.
Depth, which they did not sweep, has three values. Nobody has run it.
"""

import dataclasses

from experiments.tables.addition.reduced import DIGITS, base
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Addition
from posenc_jax.encodings import SHAPE, Learned, PositionCoupling

coupling = PositionCoupling(digits=DIGITS, plus=4, equals=2, max_position=210)
POSITIONS = {
    "nope": (),
    "random start": (SHAPE(600, evaluation="none"), Learned()),
    "position coupling": (coupling, Learned()),
}


def with_layers(num_layers: int) -> tuple[Run, ...]:
    """Every encoding at a depth."""
    run = dataclasses.replace(
        base,
        table=f"addition, {num_layers} layers" if num_layers > 1 else "addition",
        task=Addition(max_length=30),
        model=Transformer(
            d_model=1024, num_layers=num_layers, num_heads=4, mlp_dim=2048, norm_type="rms", dtype="bfloat16"
        ),
        optimizer=Optimizer(schedule="linear", warmup_steps=500),
        training=Training(steps=50_000, batch_size=1000, steps_per_call=100, log_every=500, checkpoint_every=5000),
        evaluation=Evaluation(lengths=(10, 30, 40, 60, 100, 150, 200), num_examples=1000),
        seeds=tuple(range(8)),
        learning_rates=(1e-4,),
    )
    return tuple(dataclasses.replace(run, label=label, posenc=slot) for label, slot in POSITIONS.items())


config = Ablation(
    name="tables-addition-full",
    runs=(*with_layers(1), *with_layers(2), *with_layers(4)),
    baseline="nope",
)
