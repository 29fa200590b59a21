"""Does it matter for translation how positions are encoded? English to German, help pages, small enough for 2 cores.

    python -m experiments.corpora.make help-en-de
    posenc ablate experiments/translation/small.py

Scores: chrF from 35.5 (T5) to 40.1 (sinusoidal) within the training lengths, from 24.4 (learned) to 27.3 (Shaw) beyond.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Translation
from posenc_jax.encodings import ALiBi, Learned, RoPE, Shaw, Sinusoidal, T5Bias

base = Run(
    table="help en-de",
    label="sinusoidal",
    task=Translation(data=Data(name="own/help-en-de", vocab_size=2000), max_length=32, row=64),
    model=Transformer(d_model=128, num_layers=2, num_heads=4, tie_output=True),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=600, batch_size=24, microbatches=4, steps_per_call=25, log_every=50),
    evaluation=Evaluation(lengths=(8, 16, 32, 64), num_examples=256, decoded_examples=96),
    seeds=(0, 1, 2, 3),
    learning_rates=(2e-3,),
)


def with_positions(label: str, *posenc, **changes) -> Run:
    """The same run with other encodings in both self-attentions."""
    return dataclasses.replace(base, label=label, posenc=posenc, **changes)


config = Ablation(
    name="translation",
    title="Translation: which positions?",
    description="English to German, trained on sentences of up to 32 tokens, tested by length.",
    runs=(
        base,
        with_positions("nope"),
        with_positions("learned", Learned()),
        with_positions("rope", RoPE()),
        with_positions("alibi, symmetric", ALiBi()),
        with_positions("t5", T5Bias()),
        with_positions("shaw", Shaw()),
    ),
    baseline="sinusoidal",
)
