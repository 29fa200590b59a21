"""A document model of 6 layers, d_model 512, on 1,024 tokens: the module of a help page, with four kinds of positions.

    python -m experiments.corpora.make help-modules
    posenc ablate configs/base_documents.py
    posenc plan configs/base_documents.py --target h100

Header, body and footer with an embedding each, and pooling by section (`pooling = "attention"`). A larger corpus of
your own goes in by `posenc data add NAME --jsonl FILE --field title abstract body --label area` and its name.

Price by `posenc plan`: 24 million parameters, 5.1 TFLOP a step, 0.6 hours of one H100 or 0.1 of
eight, at 30 % of their peak for all 32 replicas, compiling apart.

Not run: it needs an accelerator. Its small version, experiments/classification/small.py,
has the scores of a real run.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.text import Classification, Data
from posenc_jax.encodings import Learned, RoPE, Sinusoidal, T5Bias

sinusoidal = Run(
    table="help modules",
    label="sinusoidal",
    task=Classification(data=Data(name="own/help-modules", vocab_size=8000), max_length=1024, row=1024),
    model=Transformer(
        d_model=512, num_layers=6, num_heads=8, dropout=0.2, token_types=4, pooling="attention", dtype="bfloat16"
    ),
    posenc=(Sinusoidal(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=200, weight_decay=0.05),
    training=Training(
        steps=4000,
        batch_size=32,
        steps_per_call=50,
        log_every=100,
        checkpoint_every=400,
        validation_batches=4,
        label_smoothing=0.1,
        averaged_checkpoints=3,
    ),
    evaluation=Evaluation(lengths=(128, 256, 512, 1024, 2048), num_examples=128),
    seeds=tuple(range(8)),
    learning_rates=(3e-4,),
)

config = Ablation(
    name="base-documents",
    title="Documents of 1,024 tokens: which positions?",
    description="Help pages to the module they belong to: 9 classes.",
    runs=(
        sinusoidal,
        dataclasses.replace(sinusoidal, label="learned", posenc=(Learned(),)),
        dataclasses.replace(sinusoidal, label="relative", posenc=(T5Bias(),)),
        dataclasses.replace(sinusoidal, label="rotary", posenc=(RoPE(),)),
    ),
    baseline="sinusoidal",
)
