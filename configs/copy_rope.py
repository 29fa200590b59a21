"""Copying one repeated token with RoPE: a single run, to be played with from the command line.

    posenc train configs/copy_rope.py --directory runs/copy-rope

Exact match 1.000 at lengths 4 and 8, which training has, and 0.000 at 9 to 16.
"""

from posenc_jax import Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import RoPE

config = Run(
    task=Copying(kind="rsc", min_length=2, max_length=8, num_symbols=10),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, norm_type="rms"),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="linear", warmup_steps=50),
    training=Training(
        steps=1200, batch_size=16, microbatches=2, steps_per_call=50, log_every=100, checkpoint_every=400
    ),
    evaluation=Evaluation(lengths=(4, 8, 9, 10, 12, 16), num_examples=10),
    seeds=(0, 1),
    learning_rates=(2e-3,),
)
