"""Which encodings fail to tell positions, which fail to tell tokens? The symbol at a named position, for 2 cores.

    posenc ablate experiments/position_or_token/small.py
    for cell in runs/position_or_token/*-symbols-*; do
        posenc evaluate "$cell" --steps 75 150 225 300 375 450 525 600
    done

The end of training says little: in pilots with 64 symbols and seeds 0 and 1, RoPE had an accuracy of 1.00 after 300
steps, sinusoidal positions after 600. So checkpoints stay, and the answers are in those on the way. The second table
has symbols that are seen eight times less often.

Accuracy in the end from 0.03 (FIRE) to 1.00 (RoPE) with 64 symbols, from 0.01 (ALiBi) to 0.73 (RoPE) with 512. What was
expected: directions.md.
"""

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.tasks import PositionOrToken

FEW, MANY = 64, 512
ENCODINGS = ("sinusoidal", "nope", "learned", "rope", "transformer_xl", "t5", "alibi", "fire")


def cell(posenc: str, num_symbols: int) -> Run:
    """One encoding, with a checkpoint every 75 steps that stays."""
    return Run(
        table=f"{num_symbols} symbols",
        label=posenc,
        task=PositionOrToken(length=32, num_symbols=num_symbols),
        model=Transformer(d_model=64, num_layers=2, num_heads=4),
        posenc=parse(posenc),
        # A constant rate: what a checkpoint is does not depend on how long training went on after it.
        optimizer=Optimizer(schedule="constant", warmup_steps=100),
        training=Training(
            steps=600,
            batch_size=128,
            microbatches=8,
            steps_per_call=25,
            log_every=25,
            checkpoint_every=75,
            keep_every=75,
        ),
        evaluation=Evaluation(lengths=(32,), num_examples=2048),
        seeds=(4, 5, 6, 7, 8, 9, 10, 11),
        learning_rates=(2e-3,),
    )


config = Ablation(
    name="position_or_token",
    title="Wrong position or wrong token?",
    description="32 different symbols of 64 or of 512 and one question, which names a position.",
    runs=tuple(cell(posenc, num_symbols) for num_symbols in (FEW, MANY) for posenc in ENCODINGS),
    baseline="sinusoidal",
)
