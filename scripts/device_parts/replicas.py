"""How many models of the demo one program trains a second, by how many it trains at once."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

from benchmarks.results import Table

from configs.demo import rsc
from device_parts.part import FASTEST, Case, Part, Row, Setting, compiling, price, spread, table
from device_parts.steps import milliseconds_of_steps
from posenc_jax import Execution, Run, parse

COUNTS = (1, 8, 64, 2, 4, 16, 32)
ROUNDS = 8


def run_of(count: int, miniature: bool = False) -> Run:
    """So many seeds of the demo's first task with RoPE in one batch, without microbatches."""
    calls: dict[str, int] = {"steps": 2, "steps_per_call": 2, "log_every": 2} if miniature else {}
    small: dict[str, int] = {"d_model": 8, "num_layers": 1, "num_heads": 2} if miniature else {}
    return dataclasses.replace(
        rsc,
        posenc=parse("rope"),
        model=dataclasses.replace(rsc.model, **small),
        training=dataclasses.replace(rsc.training, microbatches=1, **calls),
        execution=Execution(mode="vmap", group_size=count),
        seeds=tuple(range(count)),
    )


def measured(run: Run, rounds: int) -> Row:
    """Milliseconds of a step of all replicas."""
    middle, least, most = spread(milliseconds_of_steps(run, rounds))
    whole = run.training.steps * middle / 1e3 / len(run.seeds)
    return {"ms": middle, "least": least, "most": most, "steps_per_second": 1e3 / middle, "seconds_of_one": whole}


def cases(setting: Setting) -> Mapping[str, Case]:
    """The ends first."""
    from posenc_jax.training.operations import of_step

    rounds, counts = (1, (2,)) if setting.miniature else (ROUNDS, COUNTS)
    found = {}
    for count in counts:
        run = run_of(count, setting.miniature)
        operations = of_step(run).operations * count * run.training.steps_per_call * (rounds + 1)
        found[str(count)] = Case(
            functools.partial(measured, run, rounds),
            price(operations, 1, compiling(run.model.num_layers), dtype="float32"),
        )
    return found


def _table(rows: Mapping[str, Row]) -> Table:
    columns = dict.fromkeys(("ms a step", "least", "most"), "{:.3f}")
    columns |= {"replicas' steps/s": "{:.0f}", "seconds of one training": "{:.2f}"}
    by_count = dict(sorted(rows.items(), key=lambda item: int(item[0])))
    counts = iter(map(int, by_count))

    def numbers(row: Row) -> tuple[float | None, ...]:
        times = (row["ms"], row["least"], row["most"])
        return *times, next(counts) * row["steps_per_second"], row["seconds_of_one"]

    return table(REPLICAS, "replicas", columns, by_count, numbers)


REPLICAS = Part(
    "replicas",
    "Replicas of the demo's model in one program",
    "`rsc` of configs/demo.py with RoPE, float32, 16 sequences in a batch. Median, least and most of "
    f"{ROUNDS} rounds of {rsc.training.steps_per_call} steps; the last column is the time of all "
    f"{rsc.training.steps:,} steps over the number of replicas",
    cases,
    _table,
    FASTEST,
)
