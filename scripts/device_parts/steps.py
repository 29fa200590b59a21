"""A training step of a language model of 124 million parameters, by encoding and length; and with repeatable bits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from benchmarks.jax_training import RandomTokens, prepared

from device_parts.part import DETERMINISTIC, FASTEST, LeftOutError, Part, Row, milliseconds
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


def measured(run: Run, rounds: int) -> Row:
    """Milliseconds of a step, and MFU where the peak is known; LeftOutError where it does not fit in the memory."""
    from posenc_jax.runs.plan import plan_of
    from posenc_jax.runs.targets import target_here

    plan = plan_of(run, target_here())
    if plan.shortage is not None:
        raise LeftOutError(f"it does not fit: {plan.shortage}")
    program, state = prepared(run)

    def call() -> None:
        nonlocal state
        state, metrics = program(state, None)
        np.asarray(metrics["loss"])

    times = {name: ms / STEPS for name, ms in milliseconds(call, rounds).items()}
    a_second = 1e3 / times["ms"]
    return {
        **times,
        "tokens_per_second": plan.step.tokens * a_second,
        "mfu": None if plan.peak is None else plan.step.operations * a_second / plan.peak,
        "attention": list(plan.attention),
        "parameters": plan.parameters,
    }


def _cases(lengths: tuple[int, ...], encodings: tuple[str, ...], miniature: bool) -> Mapping[str, Callable[[], Row]]:
    """In miniature the first encoding, at 6 tokens."""
    if miniature:
        lengths, encodings = (6,), encodings[:1]
    rounds = 1 if miniature else ROUNDS
    return {
        f"{name}, {length} tokens": functools.partial(measured, run_of(name, length, miniature), rounds)
        for length in lengths
        for name in encodings
    }


def _part(name: str, title: str, more: str, cases: Callable[..., Any], variables: dict[str, str]) -> Part:
    about = f"12 layers, d_model 768, bfloat16, {TOKENS:,} tokens in a batch. Median, least and most of {ROUNDS} rounds"
    names = ("ms", "least", "most", "tokens_per_second", "mfu")
    columns = dict.fromkeys(names[:3], "{:.2f}") | {"tokens/s": "{:.0f}", "MFU": "{:.1%}"}
    return Part(name, title, f"{about}; {more}", cases, columns, lambda row: tuple(map(row.get, names)), variables)


PARTS = (
    _part(
        "steps",
        "A training step at 124 million parameters",
        "MFU is told by the products of the model, masked pairs included",
        functools.partial(_cases, (1024, 4096), ENCODINGS),
        FASTEST,
    ),
    _part(
        "deterministic",
        "The same step with bits that repeat",
        "with `--xla_gpu_deterministic_ops=true`, as the command line has it, and the table above without",
        functools.partial(_cases, (1024,), ENCODINGS[:2]),
        DETERMINISTIC,
    ),
)
