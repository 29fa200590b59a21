"""The arms of the experiment: one factor at a time around a centre, which is a task, a width and a training budget."""

from __future__ import annotations

import dataclasses
from typing import Any

from experiments.periodicity.trained_frequencies import TrainedFrequencies
from posenc_jax import Evaluation, Execution, Optimizer, Run, Training, Transformer, parse
from posenc_jax.data.tasks import PositionOf, TokenAt, TokenBack
from posenc_jax.encodings import Sinusoidal

BASELINE = "sinusoidal"
T2T = Sinusoidal(frequencies="tensor2tensor")

ENCODINGS = {
    "tensor2tensor": (T2T,),
    "nope": (),
    "learned": parse("learned"),
    "learned_fourier": parse("learned_fourier"),
    "trained frequencies": (TrainedFrequencies(),),
    "low_side_lobes": parse("sinusoidal(frequencies=low_side_lobes(length=128))"),
    "cosine_density": parse("sinusoidal(frequencies=cosine_density)"),
    "randomized sinusoidal": parse("randomized(max_position=512)|sinusoidal"),
    "rope": parse("rope"),
    "rope, resonance": parse("rope(scaling=resonance)"),
    "rope, low_side_lobes": parse("rope(scaling=low_side_lobes(length=128))"),
    "t5": parse("t5"),
    "alibi": parse("alibi"),
}
"""Label -> slot of every encoding that is compared with Vaswani's sinusoidal one."""

BASES = (1e2, 1e3, 1e5, 1e6)
SCALES = (0.3, 0.1)
DROPOUTS = (0.1, 0.3)
WIDTHS = (8, 16, 32, 64, 128, 256, 512)


def heads(d_model: int) -> int:
    """One head below 64, where a head of less than 8 dimensions would see few frequencies; then of 16 each."""
    return max(1, d_model // 16) if d_model >= 64 else 1


def centre(
    task: PositionOf | TokenAt | TokenBack,
    d_model: int,
    steps: int,
    learning_rate: float,
    *,
    table: str,
    layers: int = 1,
    batch_size: int = 16,
    steps_per_call: int = 50,
    seeds: tuple[int, ...] = (0, 1, 2, 3),
    num_examples: int = 2048,
    execution: Execution = Execution(),  # noqa: B008  (frozen)
) -> Run:
    """The plain sinusoidal encoding on one task at one width.

    The learning rate is constant after its warm-up, so that a shorter budget is the beginning of a longer one.
    """
    return Run(
        table=table,
        label=BASELINE,
        task=task,
        model=Transformer(d_model=d_model, num_layers=layers, num_heads=heads(d_model)),
        posenc=(Sinusoidal(),),
        optimizer=Optimizer(schedule="constant", warmup_steps=min(100, steps)),
        training=Training(
            steps=steps,
            batch_size=batch_size,
            steps_per_call=steps_per_call,
            log_every=steps_per_call,
            validation_batches=2,
        ),
        evaluation=Evaluation(lengths=(task.length,), num_examples=num_examples),
        execution=execution,
        seeds=seeds,
        learning_rates=(learning_rate,),
    )


def arm(run: Run, label: str, **changes: Any) -> Run:
    """The run under another label, with other fields, those of its model by their own names."""
    fields = {field.name for field in dataclasses.fields(run)}
    model = {name: changes.pop(name) for name in list(changes) if name not in fields}
    return dataclasses.replace(run, label=label, model=dataclasses.replace(run.model, **model), **changes)


def encoding_arms(run: Run, labels: tuple[str, ...] = tuple(ENCODINGS)) -> tuple[Run, ...]:
    """Other encodings."""
    return tuple(arm(run, label, posenc=ENCODINGS[label]) for label in labels)


def base_arms(run: Run, bases: tuple[float, ...] = BASES) -> tuple[Run, ...]:
    """Other bases."""
    return tuple(arm(run, f"base {base:.0e}".replace("e+0", "e"), posenc=(Sinusoidal(base=base),)) for base in bases)


def noise_arms(run: Run) -> tuple[Run, ...]:
    """bfloat16, positions that are smaller beside their contents, and dropout."""
    return (
        arm(run, "bfloat16", dtype="bfloat16"),
        *(arm(run, f"scale {scale:g}", posenc=(Sinusoidal(scale=scale),)) for scale in SCALES),
        *(arm(run, f"dropout {rate:g}", dropout=rate) for rate in DROPOUTS),
    )


def budget_arms(run: Run, steps: tuple[int, ...]) -> tuple[Run, ...]:
    """Trained for longer or shorter."""
    return tuple(arm(run, f"{count} steps", training=dataclasses.replace(run.training, steps=count)) for count in steps)


def width_arms(run: Run, widths: tuple[int, ...] = WIDTHS) -> tuple[Run, ...]:
    """Other widths of the model, with the heads that go with them."""
    return tuple(arm(run, f"d_model {width}", d_model=width, num_heads=heads(width)) for width in widths)
