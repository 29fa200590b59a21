"""Copying, reversing and SCAN at the size of the paper, on one accelerator.

    posenc plan experiments/tables/copying/full.py --target h100
    posenc ablate experiments/tables/copying/full.py

Kazemnejad et al. 2023: the shape of T5-base, 40,000 steps of 64 sequences, lengths to 20, tested on 21 to 40, 3 seeds.
What is not theirs: logits are divided by sqrt(D), examples are drawn without end, tokens are ours. A quarter of each
head turns in RoPE, as in their code. Nobody has run it.
"""

import dataclasses

from experiments.tables.copying.reduced import rsc as reduced
from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Copying, Scan
from posenc_jax.encodings import ALiBi, RoPE, Sinusoidal, T5Bias

POSITIONS = {
    "nope": (),
    "t5": (T5Bias(),),
    "alibi": (ALiBi(),),
    "rope": (RoPE(rotary_dim=0.25),),
    "sinusoidal": (Sinusoidal(),),
}

rsc = dataclasses.replace(
    reduced,
    task=Copying(kind="rsc", min_length=1, max_length=20, num_symbols=100),
    model=Transformer(
        d_model=768,
        num_layers=12,
        num_heads=12,
        norm_type="rms",
        activation="relu",
        dropout=0.1,
        attention_bias=False,
        mlp_bias=False,
        dtype="bfloat16",
    ),
    optimizer=Optimizer(schedule="linear", warmup_steps=2400, weight_decay=0.05),
    training=Training(steps=40_000, batch_size=64, steps_per_call=100, log_every=1000, checkpoint_every=4000),
    evaluation=Evaluation(lengths=tuple(range(18, 41)), num_examples=400),
    seeds=(0, 1, 2),
    learning_rates=(3e-5,),
)


def other(kind: str) -> Run:
    """Tokens that differ."""
    return dataclasses.replace(rsc, table=kind, task=dataclasses.replace(rsc.task, kind=kind))


scan = dataclasses.replace(
    rsc,
    table="scan",
    task=Scan(split="length_cutoff", cutoff=25),
    evaluation=Evaluation(lengths=(24, 25, 26, 27, 28, 30, 32, 33, 36, 40, 48), num_examples=400),
)


def arms(run: Run) -> tuple[Run, ...]:
    """A cell for each encoding."""
    return tuple(dataclasses.replace(run, label=label, posenc=slot) for label, slot in POSITIONS.items())


config = Ablation(
    name="tables-copying-full",
    runs=(*arms(rsc), *arms(other("cmc")), *arms(other("mc")), *arms(scan)),
    baseline="rope",
)
