"""Does it matter for summaries how positions are encoded? Package descriptions to synopses, for 2 cores.

    python -m experiments.corpora.make descriptions-summaries
    posenc ablate experiments/summarization/small.py

ROUGE-L at 33-64 tokens from 0.134 (NoPE) to 0.199 (ALiBi), beyond from 0.070 (sinusoidal) to 0.147 (ALiBi).
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Summarization
from posenc_jax.encodings import ALiBi, Learned, RoPE, Sinusoidal, T5Bias

base = Run(
    table="descriptions",
    label="sinusoidal",
    task=Summarization(data=Data(name="own/descriptions-summaries", vocab_size=2000), max_length=64, row=256),
    model=Transformer(d_model=128, num_layers=2, num_heads=4, tie_output=True),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=1200, batch_size=12, microbatches=4, steps_per_call=25, log_every=100),
    evaluation=Evaluation(lengths=(64, 128, 256), num_examples=256, decoded_examples=96),
    seeds=(0, 1, 2, 3),
    learning_rates=(2e-3,),
)


def with_positions(label: str, *posenc) -> Run:
    """The same run with other encodings."""
    return dataclasses.replace(base, label=label, posenc=posenc)


config = Ablation(
    name="summarization",
    title="Summaries: which positions?",
    description="Package descriptions to their synopses, trained on the first 64 tokens of a description.",
    runs=(
        base,
        with_positions("nope"),
        with_positions("learned", Learned()),
        with_positions("rope", RoPE()),
        with_positions("alibi", ALiBi()),
        with_positions("t5", T5Bias()),
    ),
    baseline="sinusoidal",
)
