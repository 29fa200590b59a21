"""Train short, test long, at the size of an accelerator: perplexity at 1x to 8x the training length.

    python -m experiments.corpora.make python-docs
    posenc ablate experiments/language_model/full.py

Not run: it needs an accelerator. Its small version, experiments/language_model/small.py,
has the scores of a real run.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.text import Data, LanguageModel

base = Run(
    table="python docs",
    label="sinusoidal",
    task=LanguageModel(data=Data(name="own/python-docs", vocab_size=8000), max_length=512, row=512),
    model=Transformer(d_model=512, num_layers=6, num_heads=8, dropout=0.1, tie_output=True, dtype="bfloat16"),
    posenc=parse("sinusoidal"),
    optimizer=Optimizer(schedule="cosine", warmup_steps=500, weight_decay=0.01),
    training=Training(steps=10000, batch_size=32, steps_per_call=100, log_every=500, checkpoint_every=1000),
    evaluation=Evaluation(lengths=(512, 1024, 2048, 4096), num_examples=64),
    seeds=(0, 1, 2),
    learning_rates=(6e-4,),
)

POSENC = {
    "nope": "nope",
    "rope": "rope",
    "rope, yarn to 4096": "rope(scaling=yarn(factor=8, original_length=512))",
    "alibi": "alibi",
    "t5": "t5",
    "kerple": "kerple",
    "fire": "fire",
    "transformer_xl": "transformer_xl",
    "fox": "fox",
}

config = Ablation(
    name="language_model-full",
    title="Train short, test long: perplexity",
    description="The documentation of Python, trained on windows of 512 tokens.",
    runs=(base, *(dataclasses.replace(base, label=label, posenc=parse(text)) for label, text in POSENC.items())),
    baseline="sinusoidal",
)
