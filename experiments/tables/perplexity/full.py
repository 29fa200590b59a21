"""Perplexity at 1 to 16 times the training length, at the size of the paper, on one accelerator.

    posenc data add arxiv --text FILE ...
    posenc plan experiments/tables/perplexity/full.py --target h100
    posenc ablate experiments/tables/perplexity/full.py --data.name arxiv

Zheng et al. 2024: 125 million parameters, trained at 512 tokens, 50,000 steps of 256 sequences. Without the override
the text is the documentation of Python, which is too small for such a model. Learning rate and seeds are ours. Nobody
has run it.
"""

import dataclasses

from experiments.tables.perplexity.reduced import config as reduced
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, LanguageModel


def enlarged(run: Run) -> Run:
    """The published sizes."""
    return dataclasses.replace(
        run,
        task=LanguageModel(data=Data(name="own/python-docs", vocab_size=8000), max_length=512, row=512),
        model=Transformer(d_model=768, num_layers=12, num_heads=12, tie_output=True, dtype="bfloat16"),
        optimizer=Optimizer(schedule="cosine", warmup_steps=1000, weight_decay=0.01),
        training=Training(
            steps=50_000, batch_size=256, microbatches=8, steps_per_call=50, log_every=500, checkpoint_every=2500
        ),
        evaluation=Evaluation(lengths=(512, 704, 1024, 2048, 4096, 8192), num_examples=64),
        seeds=(0,),
        learning_rates=(6e-4,),
    )


config = Ablation(name="tables-perplexity-full", runs=tuple(map(enlarged, reduced.runs)), baseline=reduced.baseline)
