"""Train short, test long: perplexity at 1 to 8 times the training length, for 2 cores.

    python -m experiments.tables perplexity
    posenc ablate experiments/tables/perplexity/reduced.py

    python -m experiments.corpora.make python-docs

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

The documentation of Python, trained on windows of 128 tokens.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, LanguageModel
from posenc_jax.encodings import DAPE, KERPLE, ALiBi, RoPE, T5Bias

base = Run(
    table="python docs",
    label="RoPE",
    task=LanguageModel(data=Data(name="own/python-docs", vocab_size=2000), max_length=128, row=128),
    model=Transformer(d_model=128, num_layers=2, num_heads=4, tie_output=True),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=50),
    training=Training(steps=300, batch_size=16, microbatches=4, steps_per_call=25, log_every=50),
    evaluation=Evaluation(lengths=(128, 192, 256, 512, 1024), num_examples=64),
    seeds=(0, 1, 2, 3),
    learning_rates=(2e-3,),
)
POSITIONS = {
    "RoPE": (RoPE(),),
    "T5": (T5Bias(),),
    "ALiBi": (ALiBi(),),
    "DAPE-KERPLE": (KERPLE(), DAPE()),
    "NoPE": (),
}
config = Ablation(
    name="tables-perplexity",
    runs=tuple(dataclasses.replace(base, label=label, posenc=slot) for label, slot in POSITIONS.items()),
    baseline="RoPE",
)
