"""Needles at twice the context, before and after a change of positions: the reduced version, for 2 cores.

    python -m experiments.tables needles
    posenc ablate experiments/tables/needles/reduced.py

What was published and what is expected: published.toml and directions.toml; what came out, and how long it took: the
README.

Haystacks of 12 to 32 tokens in training, 64 in the test.
"""

import dataclasses

from posenc_jax import Ablation, Evaluation, Optimizer, Run, Training, Transformer
from posenc_jax.data.tasks import Needles
from posenc_jax.encodings import NTK, ALiBi, PositionInterpolation, RoPE, Slot, YaRN

base = Run(
    table="multi-key",
    label="RoPE",
    task=Needles(min_length=12, max_length=32, num_keys=2, value_digits=1, num_key_names=8, num_fillers=8),
    model=Transformer(d_model=64, num_layers=2, num_heads=4, norm_type="rms"),
    posenc=(RoPE(),),
    optimizer=Optimizer(schedule="cosine", warmup_steps=100),
    training=Training(steps=6000, batch_size=64, microbatches=8, steps_per_call=50, log_every=250),
    evaluation=Evaluation(lengths=(16, 32, 48, 64), num_examples=512),
    seeds=(0, 1, 2, 3),
    learning_rates=(3e-3,),
)


def from_rope(rope: Run, changed: dict[str, Slot], steps: int) -> tuple[Run, ...]:
    """The trained model of RoPE with other frequencies, as it is, and gone on with for ``steps`` without positions."""
    # A run takes one step at least: at this rate it moves nothing.
    as_it_is = dataclasses.replace(rope.training, steps=1, steps_per_call=1, log_every=1, checkpoint_every=0)
    run = dataclasses.replace(rope, init_from=rope.as_start, training=as_it_is, learning_rates=(1e-12,))
    dropped = dataclasses.replace(rope.training, steps=steps, checkpoint_every=0)
    return (
        *(dataclasses.replace(run, label=label, posenc=slot) for label, slot in changed.items()),
        dataclasses.replace(rope, init_from=rope.as_start, label="DroPE", posenc=(), training=dropped),
    )


CHANGED = {
    "position interpolation": (RoPE(scaling=PositionInterpolation(factor=2)),),
    "NTK": (RoPE(scaling=NTK(factor=2)),),
    "YaRN": (RoPE(scaling=YaRN(factor=2, original_length=base.task.width(32))),),
}
config = Ablation(
    name="tables-needles",
    runs=(
        base,
        *(
            dataclasses.replace(base, label=label, posenc=slot)
            for label, slot in {"ALiBi": (ALiBi(),), "NoPE": ()}.items()
        ),
        *from_rope(base, CHANGED, steps=600),
    ),
    baseline="RoPE",
)
