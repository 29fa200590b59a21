"""Which encodings fail to tell positions, which fail to tell tokens? The symbol at a named position, for 2 cores.

    posenc ablate experiments/position_or_token/small.py

Only pilots so far, of the sinusoidal and of the RoPE cell with seeds 0 and 1: 3 minutes on 2 cores for each beside
other work, up to an accuracy of 1.00 (RoPE after 300 steps, sinusoidal after 600). All cells: about an hour.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.tasks import PositionOrToken

base = Run(
    table="position or token",
    label="sinusoidal",
    task=PositionOrToken(length=32, num_symbols=64),
    model=Transformer(d_model=64, num_layers=2, num_heads=4),
    posenc=parse("sinusoidal"),
    optimizer=Optimizer(schedule="constant", warmup_steps=100),
    training=Training(steps=1000, batch_size=128, microbatches=8, steps_per_call=25, log_every=25),
    evaluation=Evaluation(lengths=(32,), num_examples=2048),
    seeds=(4, 5, 6, 7),
    learning_rates=(2e-3,),
)

config = Ablation(
    name="position_or_token",
    title="Wrong position or wrong token?",
    description="32 different symbols of 64 and one question, which names a position.",
    runs=(
        base,
        *(
            dataclasses.replace(base, label=label, posenc=parse(posenc))
            for label, posenc in (
                ("nope", "nope"),
                ("learned", "learned"),
                ("rope", "rope"),
                ("transformer_xl", "transformer_xl"),
                ("t5", "t5"),
                ("alibi", "alibi"),
                ("fire", "fire"),
            )
        ),
    ),
    baseline="sinusoidal",
)
