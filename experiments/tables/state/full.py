"""Parity, recall of earlier values, and copying at the sizes of the papers, on one accelerator.

    posenc plan experiments/tables/state/full.py --target h100
    posenc ablate experiments/tables/state/full.py

Parity with one layer, trained to 128 (Movahedi et al. 2025); MQRAR-N with 2 layers, d_model 256, 2 heads, 32 keys, 768
tokens, N 1 to 4 (Yang et al. 2025); copying 26 letters, trained on 2 to 64, tested to 512. Steps, batches and learning
rates are ours. Nobody has run it.
"""

import dataclasses

from experiments.tables.state.reduced import arm, parity, recall
from posenc_jax import Ablation, Evaluation, Execution, Run, Training, Transformer
from posenc_jax.data.tasks import Copying, RepeatedRecall, WordProblem
from posenc_jax.encodings import PaTH, RoPE, SelectiveRoPE, StickBreaking

long_parity = dataclasses.replace(
    parity,
    task=WordProblem(group="s2", min_length=2, max_length=128),
    model=Transformer(d_model=128, num_layers=1, num_heads=4),
    training=Training(steps=20_000, batch_size=128, steps_per_call=100, log_every=500),
    evaluation=Evaluation(lengths=(64, 128, 160, 256), num_examples=2048),
    execution=Execution(mode="vmap"),
    seeds=tuple(range(8)),
    learning_rates=(3e-4, 1e-3),
)
copying = dataclasses.replace(
    long_parity,
    table="copying",
    task=Copying(kind="cmc", min_length=2, max_length=64, num_symbols=26),
    model=Transformer(d_model=256, num_layers=2, num_heads=4),
    evaluation=Evaluation(lengths=(32, 64, 96, 128, 256, 512), num_examples=1024),
)


def recalled(back: int) -> tuple[Run, ...]:
    """The value so many assignments back."""
    run = dataclasses.replace(
        recall,
        table=f"MQRAR-{back}",
        task=RepeatedRecall(back=back, vocabulary=2048),
        model=Transformer(d_model=256, num_layers=2, num_heads=2),
        training=Training(steps=20_000, batch_size=64, steps_per_call=100, log_every=500),
        evaluation=Evaluation(lengths=(768,), num_examples=2048),
        execution=Execution(mode="vmap"),
        seeds=(0, 1, 2, 3),
        learning_rates=(3e-4, 1e-3),
    )
    return run, arm(run, "stick-breaking", StickBreaking()), arm(run, "PaTH", PaTH())


def three(run: Run) -> tuple[Run, ...]:
    """Positions of Movahedi et al."""
    return arm(run, "RoPE", RoPE()), arm(run, "NoPE"), arm(run, "Selective RoPE", SelectiveRoPE())


config = Ablation(
    name="tables-state-full",
    runs=(*three(long_parity), *three(copying), *(cell for back in (1, 2, 3, 4) for cell in recalled(back))),
    baseline="RoPE",
)
