"""The demo's copying task with an encoding that the library does not know.

    posenc ablate experiments/own_encoding/ablation.py

Exact match at 10, 12 and 16 of 0.975 (NoPE), 0.192 (ALiBi, which depends on rounding) and 0.000 (Gaussian window).
"""

import dataclasses

from experiments.own_encoding.gaussian import GaussianWindow
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import ALiBi

nope = Run(
    table="rsc",
    label="nope",
    task=Copying(kind="rsc", min_length=2, max_length=8, num_symbols=10),
    optimizer=Optimizer(schedule="linear", warmup_steps=50),
    training=Training(steps=600, batch_size=16, microbatches=2, log_every=100),
    evaluation=Evaluation(lengths=(4, 8, 10, 12, 16), num_examples=64),
    learning_rates=(2e-3,),
)

config = Ablation(
    name="own-encoding",
    title="Does a Gaussian window help copying?",
    description="An encoding defined beside its config, against NoPE and ALiBi.",
    runs=(
        nope,
        dataclasses.replace(nope, label="alibi", posenc=(ALiBi(),)),
        dataclasses.replace(nope, label="gaussian", posenc=(GaussianWindow(),)),
    ),
    baseline="nope",
)
