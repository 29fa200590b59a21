"""Documents at the size of an accelerator: the sections of packages, 20 classes, with and without parts of a document.

    python -m experiments.corpora.make descriptions-sections
    posenc ablate experiments/classification/full.py

Not run: it needs an accelerator. Its small version, experiments/classification/small.py,
has the scores of a real run.
"""

import dataclasses

from experiments.corpora.descriptions import PACKAGE_SECTIONS
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.text import Classification, Data
from posenc_jax.encodings import ALiBi, RoPE, Sinusoidal, T5Bias

STRUCTURED = parse("sinusoidal|within_section|sinusoidal|section_index|learned")

structured = Run(
    table="sections",
    label="structured",
    task=Classification(data=Data(name="own/descriptions-sections", vocab_size=8000), labels=PACKAGE_SECTIONS),
    model=Transformer(
        d_model=256, num_layers=4, num_heads=8, token_types=4, pooling="attention", dropout=0.2, dtype="bfloat16"
    ),
    posenc=STRUCTURED,
    optimizer=Optimizer(schedule="cosine", warmup_steps=500, weight_decay=0.05),
    training=Training(steps=10000, batch_size=32, steps_per_call=50, log_every=500, validation_batches=28),
    evaluation=Evaluation(lengths=(32, 64, 128, 256, 512), num_examples=512),
    seeds=(0, 1, 2, 3),
    learning_rates=(5e-4,),
)


def cell(label: str, posenc=STRUCTURED, *, sections=("header", "body", "footer"), **model) -> Run:
    """The same run with other encodings, parts of the document, or fields of the model."""
    return dataclasses.replace(
        structured,
        label=label,
        posenc=posenc,
        task=dataclasses.replace(structured.task, sections=sections),
        model=dataclasses.replace(structured.model, **model),
    )


config = Ablation(
    name="classification-full",
    title="Documents: do header, body and footer help?",
    description="Package descriptions to the section of the archive; footers nearly name the class.",
    runs=(
        cell("sinusoidal", (Sinusoidal(),), token_types=0, pooling="mean"),
        cell("sinusoidal, token types", (Sinusoidal(),), pooling="mean"),
        cell("sinusoidal, token types, pooling by section", (Sinusoidal(),)),
        structured,
        cell("rope", (RoPE(),)),
        cell("alibi", (ALiBi(),)),
        cell("t5", (T5Bias(),)),
        cell("nope", ()),
        cell("structured, no footer", sections=("header", "body")),
        cell("structured, body only", sections=("body",)),
    ),
    baseline="sinusoidal",
)
