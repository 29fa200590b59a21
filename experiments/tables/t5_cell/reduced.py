"""T5's bias on one repeated token, with the ingredients of the published model one by one: for 2 cores.

    python -m experiments.tables t5_cell
    posenc ablate experiments/tables/t5_cell/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Their lengths and T5's own buckets, 32 up to 128, in a model of 2 layers and d_model 64. "ours" is the block of the
other tables; "theirs" has logits that are not divided by sqrt(D) and queries that start smaller by that factor,
embeddings that start with deviation 1 and are not scaled, ReLU, no biases, and dropout. RMSNorm is in both.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import ALiBi, RoPE, T5Bias

INGREDIENTS = {
    "undivided": {"divide_logits": False},
    "plain embeddings": {"scale_embeddings": False},
    "relu without biases": {"activation": "relu", "attention_bias": False, "mlp_bias": False},
    "dropout": {"dropout": 0.1},
}
THEIRS = {field: value for changes in INGREDIENTS.values() for field, value in changes.items()}

base = Run(
    table="rsc",
    label="ours, t5",
    task=Copying(kind="rsc", min_length=1, max_length=20, num_symbols=10),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, norm_type="rms"),
    posenc=(T5Bias(),),
    optimizer=Optimizer(schedule="linear", warmup_steps=90, weight_decay=0.05),
    training=Training(steps=1500, batch_size=16, microbatches=4, steps_per_call=50, log_every=100),
    evaluation=Evaluation(lengths=(5, 10, 15, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40), num_examples=10),
    seeds=tuple(range(8)),
    learning_rates=(2e-3,),
)


def arm(label: str, changes: dict, *posenc) -> Run:
    """The same run with another block and other positions."""
    return dataclasses.replace(base, label=label, model=dataclasses.replace(base.model, **changes), posenc=posenc)


config = Ablation(
    name="tables-t5-cell",
    runs=(
        base,
        *(arm(f"{name}, t5", changes, T5Bias()) for name, changes in INGREDIENTS.items()),
        arm("theirs, t5", THEIRS, T5Bias()),
        arm("theirs, nope", THEIRS),
        arm("theirs, alibi", THEIRS, ALiBi()),
        arm("theirs, rope", THEIRS, RoPE(rotary_dim=0.25)),
    ),
    baseline="ours, t5",
)
