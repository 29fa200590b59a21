"""Language models of width 8, whose sinusoidal encoding has its alias at offset 63, for `moved.py`.

    python -m experiments.corpora.make python-docs
    posenc ablate experiments/periodicity/text.py

Perplexity 199 (RoPE) to 242 (sinusoidal), 4 seeds. The frequencies of tensor2tensor (no alias at 63) and a learned
table are the controls; RoPE shows that the comparison finds nothing where nothing can be.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Data, LanguageModel
from posenc_jax.encodings import Learned, RoPE, Sinusoidal

base = Run(
    table="python docs, d_model 8",
    label="sinusoidal",
    task=LanguageModel(data=Data(name="own/python-docs", vocab_size=2000), max_length=128, row=128),
    model=Transformer(d_model=8, num_layers=2, num_heads=2, mlp_dim=64, tie_output=True),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=50),
    training=Training(steps=600, batch_size=16, microbatches=4, steps_per_call=25, log_every=50),
    evaluation=Evaluation(lengths=(128,), num_examples=64),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-2,),
)


def with_positions(label: str, *posenc) -> Run:
    """The same run with other encodings."""
    return dataclasses.replace(base, label=label, posenc=posenc)


config = Ablation(
    name="periodicity_text",
    title="Language models of width 8",
    description="The documentation of Python, windows of 128 tokens; for experiments/periodicity/moved.py.",
    runs=(
        base,
        with_positions("tensor2tensor", Sinusoidal(frequencies="tensor2tensor")),
        with_positions("learned", Learned()),
        with_positions("rope", RoPE()),
    ),
    baseline="sinusoidal",
)
