"""What do summaries of package descriptions lack? The best small model with more steps, and a larger one.

    python -m experiments.corpora.make descriptions-summaries
    posenc ablate experiments/summarization/budgets.py

ALiBi's decoder of small.py with almost seven times as many steps, and one with 8 times the parameters in its layers;
one seed each, which no table of small.py has. ROUGE-L at 64 tokens: 0.340 with more steps, 0.237 with more parameters,
0.194 as in small.py. What was expected stands in budgets-directions.md.
"""

import dataclasses

from experiments.summarization.small import base
from posenc_jax import Ablation, Training, Transformer
from posenc_jax.encodings import ALiBi

longer = dataclasses.replace(
    base,
    label="longer",
    posenc=(ALiBi(),),
    training=Training(steps=8000, batch_size=12, microbatches=4, steps_per_call=25, log_every=500),
    evaluation=dataclasses.replace(base.evaluation, decoded_examples=256),
    seeds=(4,),
)
config = Ablation(
    name="summarization-budgets",
    title="Summaries: what do more steps and more parameters buy?",
    description="Package descriptions to their synopses, ALiBi's decoder: more steps, more parameters.",
    runs=(
        dataclasses.replace(longer, label="short", training=base.training),
        longer,
        dataclasses.replace(
            longer,
            label="larger",
            model=Transformer(d_model=256, num_layers=4, num_heads=4, dropout=0.1, tie_output=True),
            training=dataclasses.replace(longer.training, steps=1500),
            learning_rates=(1e-3,),
        ),
    ),
    baseline="short",
)
