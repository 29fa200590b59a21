"""Summaries at the size of an accelerator: package descriptions to synopses.

    python -m experiments.corpora.make descriptions-summaries
    posenc ablate experiments/summarization/full.py

Not run: it needs an accelerator. Its small version, experiments/summarization/small.py,
has the scores of a real run.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Summarization
from posenc_jax.encodings import ALiBi, Learned, Randomized, RoPE, Sinusoidal, T5Bias
from posenc_jax.models.decoding_config import Beam

base = Run(
    table="descriptions",
    label="sinusoidal",
    task=Summarization(data=Data(name="own/descriptions-summaries", vocab_size=8000), max_length=128, row=512),
    model=Transformer(d_model=512, num_layers=6, num_heads=8, dropout=0.2, tie_output=True, dtype="bfloat16"),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=1000, weight_decay=0.01),
    training=Training(steps=15000, batch_size=32, steps_per_call=100, log_every=500, checkpoint_every=1500),
    evaluation=Evaluation(
        lengths=(64, 128, 256, 512), num_examples=1024, decoded_examples=256, decoding=Beam(size=4, alpha=0.6)
    ),
    seeds=(0, 1, 2, 3),
    learning_rates=(5e-4,),
)


def with_positions(label: str, *posenc) -> Run:
    """The same run with other encodings."""
    return dataclasses.replace(base, label=label, posenc=posenc)


config = Ablation(
    name="summarization-full",
    title="Summaries: which positions?",
    description="Package descriptions to their synopses, trained on the first 128 tokens of a description.",
    runs=(
        base,
        with_positions("nope"),
        with_positions("learned", Learned()),
        with_positions("rope", RoPE()),
        with_positions("alibi", ALiBi()),
        with_positions("t5", T5Bias()),
        with_positions("randomized rope", Randomized(max_position=2048), RoPE()),
    ),
    baseline="sinusoidal",
)
