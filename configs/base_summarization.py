"""A summariser of 6 layers, d_model 512, on 1,024 tokens: abstracts of papers, with four kinds of positions.

    posenc ablate configs/base_summarization.py
    posenc ablate configs/base_summarization.py --data.name own/descriptions-summaries --task.source document
        --task.target summary                          # without a network
    posenc plan configs/base_summarization.py --target h100:8

Papers of arXiv (Cohan et al. 2018; scientific_papers/arxiv of TensorFlow Datasets): the first 765 pieces of a paper
and its abstract of up to 256, one sequence of a decoder (Liu et al. 2018). A vocabulary of 32,000 pieces, label
smoothing 0.1, the mean of the last five checkpoints, a beam of 4.

Price by `posenc plan`: 35 million parameters, 8.2 TFLOP a step, 14.7 hours of one H100 or 1.8 of
eight, at 30 % of their peak for all 32 replicas, compiling apart.

Not run: it needs accelerators. Its small version, experiments/summarization/small.py,
has the scores of a real run.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, Summarization
from posenc_jax.encodings import Learned, RoPE, Sinusoidal, T5Bias
from posenc_jax.models.decoding_config import Beam

sinusoidal = Run(
    table="arxiv",
    label="sinusoidal",
    task=Summarization(
        data=Data(name="scientific_papers/arxiv", vocab_size=32000, in_memory=False),
        source="article",
        target="abstract",
        max_length=765,
        max_summary=256,
        row=1024,
    ),
    model=Transformer(d_model=512, num_layers=6, num_heads=8, dropout=0.1, tie_output=True, dtype="bfloat16"),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="noam", warmup_steps=4000, b2=0.98),
    training=Training(
        steps=60_000,
        batch_size=32,
        steps_per_call=100,
        log_every=500,
        checkpoint_every=1500,
        label_smoothing=0.1,
        averaged_checkpoints=5,
    ),
    evaluation=Evaluation(
        lengths=(256, 512, 765, 1530), num_examples=1024, decoded_examples=256, decoding=Beam(size=4, alpha=0.6)
    ),
    seeds=tuple(range(8)),
    learning_rates=(7e-4,),
)

config = Ablation(
    name="base-summarization",
    title="Abstracts of papers: which positions?",
    description="The first 765 pieces of a paper to its abstract, tested by length.",
    runs=(
        sinusoidal,
        dataclasses.replace(sinusoidal, label="learned", posenc=(Learned(),)),
        dataclasses.replace(sinusoidal, label="relative", posenc=(T5Bias(),)),
        dataclasses.replace(sinusoidal, label="rotary", posenc=(RoPE(),)),
    ),
    baseline="sinusoidal",
)
