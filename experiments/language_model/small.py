"""Train short, test long: the perplexity of the documentation of Python at 1x to 8x the training length, for 2 cores.

    python -m experiments.corpora.make python-docs
    posenc ablate experiments/language_model/small.py

Perplexity at 1024 tokens from 76.7 (ALiBi) to 124 (sinusoidal).
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, LanguageModel
from posenc_jax.encodings import ALiBi, RoPE, Sinusoidal, T5Bias

base = Run(
    table="python docs",
    label="sinusoidal",
    task=LanguageModel(data=Data(name="own/python-docs", vocab_size=2000), max_length=128, row=128),
    model=Transformer(d_model=128, num_layers=2, num_heads=4, tie_output=True),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=50),
    training=Training(steps=300, batch_size=16, microbatches=4, steps_per_call=25, log_every=50),
    evaluation=Evaluation(lengths=(128, 256, 512, 1024), num_examples=64),
    seeds=(0, 1, 2, 3),
    learning_rates=(2e-3,),
)


def with_positions(label: str, *posenc) -> Run:
    """The same run with other encodings."""
    return dataclasses.replace(base, label=label, posenc=posenc)


config = Ablation(
    name="language_model",
    title="Train short, test long: perplexity",
    description="The documentation of Python, trained on windows of 128 tokens.",
    runs=(
        base,
        with_positions("nope"),
        with_positions("rope", RoPE()),
        with_positions("alibi", ALiBi()),
        with_positions("t5", T5Bias()),
    ),
    baseline="sinusoidal",
)
