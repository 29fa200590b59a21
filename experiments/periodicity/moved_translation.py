"""Translators of width 8 whose positions start anywhere in training, for `moved.py`.

    python -m experiments.corpora.make help-en-de
    posenc ablate experiments/periodicity/moved_translation.py
    python -m experiments.periodicity.moved runs/periodicity-translation

Sentences have at most 32 tokens, so positions that begin at 0 never reach 63 and more. Here source and target begin at
a random place below 96 in training, each at its own: all pairs of positions up to 127 occur, and a sentence that is
moved by 63 stays within what training knew. What was expected: moved-directions.md.

Accuracy of tokens 0.171 (sinusoidal) to 0.194 (RoPE).
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Translation
from posenc_jax.encodings import SHAPE, Learned, RoPE, Sinusoidal, T5Bias

START = SHAPE(max_shift=96, evaluation="none")
base = Run(
    table="help en-de, d_model 8, random starts",
    label="sinusoidal",
    task=Translation(data=Data(name="own/help-en-de", vocab_size=2000), max_length=32, row=64),
    model=Transformer(d_model=8, num_layers=2, num_heads=1, mlp_dim=64, tie_output=True),
    posenc=(START, Sinusoidal()),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=1500, batch_size=24, microbatches=4, steps_per_call=25, log_every=50),
    evaluation=Evaluation(lengths=(16, 32), num_examples=256),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-2,),
)


def with_positions(label: str, *posenc) -> Run:
    """The same run with other encodings."""
    return dataclasses.replace(base, label=label, posenc=posenc)


config = Ablation(
    name="periodicity-translation",
    title="Translators of width 8, positions from a random start",
    description="English to German, sentences of up to 32 tokens; for experiments/periodicity/moved.py.",
    runs=(
        base,
        with_positions("tensor2tensor", START, Sinusoidal(frequencies="tensor2tensor")),
        with_positions("learned", START, Learned()),
        with_positions("rope", START, RoPE()),
        with_positions("t5", START, T5Bias()),
    ),
    baseline="sinusoidal",
)
