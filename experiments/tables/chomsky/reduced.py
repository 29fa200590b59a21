"""Two of the Chomsky tasks, all encodings with randomized positions: the reduced version, for 2 cores.

    python -m experiments.tables chomsky
    posenc ablate experiments/tables/chomsky/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Trained on lengths 1 to 10, tested on 12 to 40; positions from 128.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import EvenPairs, ReverseString
from posenc_jax.encodings import DAPE, FIRE, KERPLE, ALiBi, Learned, Randomized, RoPE, Sinusoidal, TransformerXL

MAX_POSITION = 128
POSITIONS = {
    "learned": (Learned(),),
    "sinusoidal": (Sinusoidal(),),
    "RoPE": (RoPE(),),
    "relative": (TransformerXL(),),
    "ALiBi": (ALiBi(),),
    "KERPLE": (KERPLE(),),
    "FIRE": (FIRE(),),
    "DAPE-ALiBi": (ALiBi(), DAPE()),
    "DAPE-KERPLE": (KERPLE(), DAPE()),
    "DAPE-FIRE": (FIRE(), DAPE()),
}
even_pairs = Run(
    table="even_pairs",
    task=EvenPairs(max_length=10),
    model=Transformer(d_model=64, num_layers=2, num_heads=4),
    optimizer=Optimizer(schedule="constant"),
    training=Training(steps=3000, batch_size=32, microbatches=2, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40), num_examples=512, draws=16),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-3,),
)
reverse = dataclasses.replace(even_pairs, table="reverse_string", task=ReverseString(max_length=10))


def arms(run: Run) -> tuple[Run, ...]:
    return tuple(
        dataclasses.replace(run, label=label, posenc=(Randomized(max_position=MAX_POSITION), *slot))
        for label, slot in POSITIONS.items()
    )


config = Ablation(name="tables-chomsky", runs=(*arms(even_pairs), *arms(reverse)), baseline="RoPE")
