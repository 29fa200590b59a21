"""Copying and reversing beyond the lengths of training, by encoding: the reduced version, for 2 cores.

    python -m experiments.tables copying
    posenc ablate experiments/tables/copying/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Trained on lengths 2 to 8, tested on 9 to 16. T5's bias has 8 buckets up to distance 32: the default of 32 up to 128
gives every distance below 16 a bucket of its own, and those of 9 to 15 are never trained here.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import ALiBi, RoPE, Sinusoidal, T5Bias
from posenc_jax.verdict.tables import full_size, table

POSITIONS = {
    "nope": (),
    "t5": (T5Bias(num_buckets=8, max_distance=32),),
    "alibi": (ALiBi(),),
    "rope": (RoPE(),),
    "sinusoidal": (Sinusoidal(),),
}

rsc = Run(
    table="rsc",
    label="nope",
    task=Copying(kind="rsc", min_length=2, max_length=8, num_symbols=10),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, norm_type="rms"),
    optimizer=Optimizer(schedule="linear", warmup_steps=50),
    training=Training(steps=1200, batch_size=16, microbatches=2, steps_per_call=50, log_every=100),
    evaluation=Evaluation(lengths=(2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16), num_examples=10),
    seeds=tuple(range(8)),
    learning_rates=(2e-3,),
)


def other(kind: str, steps: int, num_examples: int) -> Run:
    """Copying or reversing tokens that differ, which is learned later."""
    return dataclasses.replace(
        rsc,
        table=kind,
        task=dataclasses.replace(rsc.task, kind=kind),
        training=dataclasses.replace(rsc.training, steps=steps),
        evaluation=dataclasses.replace(rsc.evaluation, num_examples=num_examples),
    )


def arms(run: Run) -> tuple[Run, ...]:
    return tuple(dataclasses.replace(run, label=label, posenc=slot) for label, slot in POSITIONS.items())


cmc = other("cmc", 3000, 256)
config = Ablation(
    name="tables-copying",
    runs=(*arms(rsc), *arms(cmc), *arms(other("mc", 3000, 256))),
    baseline="rope",
)

FULL_MODEL = Transformer(d_model=256, num_layers=4, num_heads=4, norm_type="rms")
FULL_TASK = Copying(kind="rsc", min_length=1, max_length=20, num_symbols=100)
FULL_LENGTHS = (5, 10, 15, *range(20, 41))
verdict = (
    table(
        "copy",
        rsc,
        full_size(FULL_TASK, FULL_MODEL, 20_000, 64, FULL_LENGTHS, num_examples=100),
        question="copies of one repeated token, longer than any in training",
        source="Kazemnejad et al. 2023, 'rsc'",
        quick=True,
    ),
    table(
        "copy_digits",
        dataclasses.replace(
            cmc,
            training=dataclasses.replace(cmc.training, log_every=250),
            evaluation=dataclasses.replace(cmc.evaluation, lengths=(2, 4, 6, 8, 9, 10, 11, 12)),
        ),
        full_size(dataclasses.replace(FULL_TASK, kind="cmc"), FULL_MODEL, 20_000, 64, FULL_LENGTHS, num_examples=256),
        question="copies of digits that differ, longer than any in training",
        source="Kazemnejad et al. 2023, 'cmc'",
    ),
)
