"""What does a document classifier gain from knowing header, body and footer? LibreOffice Help by module, for 2 cores.

    python -m experiments.corpora.make help-modules
    posenc ablate experiments/classification/small.py

Accuracy on validation pages from 0.74 (structured) to 0.84 (NoPE).
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.text import Classification, Data
from posenc_jax.encodings import RoPE, Sinusoidal

STRUCTURED = parse("sinusoidal|within_section|sinusoidal|section_index|learned")

plain = Run(
    table="help modules",
    label="sinusoidal",
    task=Classification(
        data=Data(name="own/help-modules", vocab_size=2000), max_length=256, row=256, batching="fitted"
    ),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, pooling="mean", dropout=0.1),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=50, weight_decay=0.01),
    training=Training(steps=400, batch_size=16, microbatches=2, steps_per_call=25, log_every=50, validation_batches=7),
    evaluation=Evaluation(lengths=(64, 128, 256, 512), num_examples=128),
    seeds=(0, 1, 2, 3),
    learning_rates=(1e-3,),
)
with_types = dataclasses.replace(plain.model, token_types=4)
with_pooling = dataclasses.replace(with_types, pooling="attention")

config = Ablation(
    name="classification",
    title="Documents: do header, body and footer help?",
    description="Help pages to the module they belong to: 9 classes, the largest one third of all.",
    runs=(
        plain,
        dataclasses.replace(plain, label="nope", posenc=()),
        dataclasses.replace(plain, label="sinusoidal, token types", model=with_types),
        dataclasses.replace(plain, label="sinusoidal, token types, pooling by section", model=with_pooling),
        dataclasses.replace(
            plain, label="structured, token types, pooling by section", model=with_pooling, posenc=STRUCTURED
        ),
        dataclasses.replace(plain, label="rope, token types, pooling by section", model=with_pooling, posenc=(RoPE(),)),
        dataclasses.replace(plain, label="nope, token types, pooling by section", model=with_pooling, posenc=()),
    ),
    baseline="sinusoidal",
)
