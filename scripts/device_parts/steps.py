"""A training step of a language model of 124 million parameters, by encoding and length; and with repeatable bits."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from benchmarks.jax_training import RandomTokens, prepared
from benchmarks.results import Table

from device_parts.device import fits
from device_parts.part import (
    DETERMINISTIC,
    FASTEST,
    Case,
    Part,
    Row,
    Setting,
    compiling,
    milliseconds,
    price,
    spread,
    table,
)
from posenc_jax import Execution, Run, Training, Transformer, parse

ENCODINGS = ("rope", "t5", "fox", "nope", "alibi", "fire")
TOKENS, VOCABULARY = 32768, 50304
"""Of a batch; GPT-2's vocabulary, filled up to a multiple of 128."""
STEPS, ROUNDS = 4, 6


def run_of(posenc: str, length: int, miniature: bool = False) -> Run:
    """GPT-2 small in bfloat16, the output layer tied to the embeddings."""
    model = Transformer(d_model=768, num_layers=12, num_heads=12, tie_output=True, dtype="bfloat16")
    if miniature:
        model = Transformer(d_model=8, num_layers=1, num_heads=2, tie_output=True)
    return Run(
        task=RandomTokens(length, vocabulary=16 if miniature else VOCABULARY),
        model=model,
        posenc=parse(posenc),
        training=Training(
            steps=STEPS,
            batch_size=2 if miniature else TOKENS // length,
            microbatches=1 if miniature else 2,
            steps_per_call=STEPS,
            log_every=STEPS,
        ),
        execution=Execution(mode="map", group_size=1),
        seeds=(0,),
        learning_rates=(1e-4,),
    )


def milliseconds_of_steps(run: Run, rounds: int) -> list[float]:
    """The time of a training step of all replicas in each round."""
    program, state = prepared(run)

    def call() -> None:
        nonlocal state
        state, metrics = program(state, None)
        np.asarray(metrics["loss"])

    return [ms / run.training.steps_per_call for ms in milliseconds(call, rounds)]


def measured(run: Run, rounds: int) -> Row:
    """Milliseconds of a step, and MFU where the peak is known."""
    from posenc_jax.runs.plan import plan_of
    from posenc_jax.runs.targets import target_here

    fits(run)
    plan = plan_of(run, target_here())
    middle, least, most = spread(milliseconds_of_steps(run, rounds))
    speed = plan.step.operations / middle * 1e3
    return {
        "ms": middle,
        "least": least,
        "most": most,
        "tokens_per_second": plan.step.tokens / middle * 1e3,
        "mfu": None if plan.peak is None else speed / plan.peak,
        "attention": list(plan.attention),
        "parameters": plan.parameters,
    }


def _case(posenc: str, length: int, miniature: bool) -> Case:
    from posenc_jax.training.operations import of_step

    run, rounds = run_of(posenc, length, miniature), 1 if miniature else ROUNDS
    operations = of_step(run).operations * STEPS * (rounds + 1)
    return Case(functools.partial(measured, run, rounds), price(operations, 1, compiling(run.model.num_layers)))


def _cases(length: int, encodings: tuple[str, ...], setting: Setting) -> Mapping[str, Case]:
    """In miniature the first encoding, at 6 tokens."""
    if setting.miniature:
        length, encodings = 6, encodings[:1]
    return {f"{name}, {length} tokens": _case(name, length, setting.miniature) for name in encodings}


def _table(part: Part, rows: Mapping[str, Row]) -> Table:
    columns = dict.fromkeys(("ms", "least", "most"), "{:.2f}") | {"tokens/s": "{:.0f}", "MFU": "{:.1%}"}
    names = ("ms", "least", "most", "tokens_per_second", "mfu")
    return table(part, "encoding", columns, rows, lambda row: tuple(row[name] for name in names))


def _part(name: str, title: str, more: str, length: int, encodings: tuple[str, ...], variables: dict[str, str]) -> Part:
    part = Part(
        name,
        title,
        f"12 layers, d_model 768, bfloat16, {TOKENS:,} tokens in a batch. Median, least and most of {ROUNDS} rounds; "
        f"{more}",
        functools.partial(_cases, length, encodings),
        lambda rows: _table(part, rows),
        variables,
    )
    return part


_MFU = "MFU is told by the products of the model, masked pairs included"
TRAINING = _part("steps", "A training step at 124 million parameters", _MFU, 1024, ENCODINGS, FASTEST)
LONG_ROWS = _part("long_steps", "The same step on rows of 4,096 tokens", _MFU, 4096, ENCODINGS, FASTEST)
REPEATABLE = _part(
    "deterministic",
    "The same step with bits that repeat",
    "with `--xla_gpu_deterministic_ops=true`, as the command line has it, and the tables above without",
    1024,
    ENCODINGS[:2],
    DETERMINISTIC,
)
