"""Whole ablations to their ends: the demo, two tables at an accelerator's size, published tables at their papers'."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.results import Table

from device_parts.part import DETERMINISTIC, Case, Part, Row, Setting, compiling, table
from posenc_jax import Ablation, Evaluation, Execution, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Copying

MINUTES = 8
TABLES = ("flip_flop", "indirect_indexing", "arrow_grid")
"""Of which `fitting` gets at least two cells into a part."""
PROGRAMS = 5 / 3
"""Of each cell, by which it is priced: to train; to validate and to evaluate, at a third of that without gradients."""


def minutes(config: Ablation) -> float:
    """What it takes on one H100 by `posenc plan`, and to compile."""
    from posenc_jax.runs.plan import plan_of
    from posenc_jax.runs.targets import target

    h100 = target("h100")
    programs = sum(PROGRAMS * compiling(run.model.num_layers) for run in config.runs)
    return sum(60 * (plan_of(run, h100).hours or 0.0) for run in config.runs) + programs / 60


def fitting(config: Ablation, limit: float = MINUTES) -> Ablation:
    """As many of its first seeds as are planned to take so many minutes; where not even one is, that one at its first
    learning rate, in as many cells as fit, the baseline among them.

    Raises:
      ValueError: two cells do not fit.
    """

    def first(seeds: int, rates: int | None = None, cells: int | None = None) -> Ablation:
        baseline = [run for run in config.runs if run.label == config.baseline]
        others = [run for run in config.runs if run.label != config.baseline]
        kept = config.runs if cells is None else (*baseline, *others)[:cells]
        runs = (
            dataclasses.replace(run, seeds=run.seeds[:seeds], learning_rates=run.learning_rates[:rates]) for run in kept
        )
        return dataclasses.replace(config, runs=tuple(runs))

    most = max(len(run.seeds) for run in config.runs)
    choices = [*(first(seeds) for seeds in range(most, 0, -1))]
    choices += [first(1, 1, cells) for cells in range(len(config.runs), 1, -1)]
    for choice in choices:
        if minutes(choice) <= limit:
            return choice
    least = minutes(choices[-1])
    raise ValueError(
        f"{config.name} takes {least:.1f} minutes for one seed of two cells, and {limit:g} are to be spent"
    )


def demo() -> Ablation:
    return importlib.import_module("configs.longer").config


def accelerator() -> Ablation:
    return importlib.import_module("configs.accelerator").config


def published(name: str) -> Ablation:
    return fitting(importlib.import_module(f"experiments.tables.{name}.full").config)


def small() -> Ablation:
    """Of one tiny cell: what stands for all of them in miniature."""
    run = Run(
        task=Copying(kind="cmc", max_length=3, num_symbols=3),
        model=Transformer(d_model=8, num_layers=1, num_heads=2),
        posenc=parse("rope"),
        training=Training(steps=4, batch_size=4, steps_per_call=2, log_every=2, validation_batches=1),
        evaluation=Evaluation(lengths=(2, 4), num_examples=4),
        execution=Execution(mode="map", group_size=1),
        seeds=(0,),
        learning_rates=(1e-3,),
    )
    return Ablation(name="small", runs=(run,))


def measured(config: Ablation, name: str, setting: Setting) -> Row:
    """Scores and times of every cell; it goes on where it was stopped."""
    from posenc_jax import ablate
    from posenc_jax.results.record import read_record
    from posenc_jax.runs.errors import StoppedError
    from posenc_jax.runs.reporter import Reporter

    directory = setting.folder / "runs" / name
    try:
        result = ablate(config, directory, reporter=Reporter(), stop=setting.stop)
    except StoppedError as error:
        return {"stopped": f"{error}; the same command goes on"}
    record = read_record(directory)
    cells: dict[str, Any] = {}
    for own in result.means:
        if own["length"] is None:  # the first score of a table is the one that its report is about
            scores = cells.setdefault(f"{own['table']} {own['label']}", {"scores": {}})["scores"]
            scores.setdefault(own["range"], {key: own[key] for key in ("score", "mean", "low", "high", "seeds")})
    for cell, timing in record.timings.items():
        found = cells.get(" ".join(map(str, cell)) if isinstance(cell, tuple) else str(cell))
        if found is not None:
            found |= {"train": timing.measured["train"].seconds, "mfu": timing.measured["train"].mfu}
            found |= {"compiling": timing.compiling, "planned": timing.planned.get("train")}
    return {"cells": cells}


def _cases(name: str, config_of: Callable[[], Ablation], setting: Setting) -> Mapping[str, Case]:
    config = small() if setting.miniature else config_of()
    return {name: Case(functools.partial(measured, config, name, setting), 60 * minutes(config))}


def _table(part: Part, rows: Mapping[str, Row]) -> Table:
    columns = dict.fromkeys(("beyond", "low", "high"), "{:.3f}") | dict.fromkeys(
        ("train s", "planned s", "compile s"), "{:.0f}"
    )
    columns["MFU"] = "{:.2%}"
    cells = {cell: own for row in rows.values() for cell, own in row.get("cells", {}).items()}

    def numbers(row: Row) -> tuple[float | None, ...]:
        scores = row["scores"].get("beyond") or next(iter(row["scores"].values()))
        return *(scores[key] for key in ("mean", "low", "high")), *(
            row.get(k) for k in ("train", "planned", "compiling", "mfu")
        )

    return table(part, "cell", columns, cells, numbers)


def _part(name: str, title: str, about: str, config_of: Callable[[], Ablation]) -> Part:
    part = Part(
        name,
        title,
        f"{about}. Scores beyond the training lengths, else within, with the interval of 95 %; seconds of training by "
        "`timing.jsonl` and by `posenc plan`",
        functools.partial(_cases, name, config_of),
        lambda rows: _table(part, rows),
        DETERMINISTIC,
    )
    return part


DEMO = _part("demo", "The demo, with all its rows", "`posenc ablate configs/longer.py`", demo)
ACCELERATOR = _part(
    "accelerator", "Both tables at the size of an accelerator", "`posenc ablate configs/accelerator.py`", accelerator
)
PUBLISHED = tuple(
    _part(
        name,
        f"Published table: {name.replace('_', ' ')}",
        f"experiments/tables/{name}/full.py, as much of it as `posenc plan` fits into {MINUTES} minutes of an H100",
        functools.partial(published, name),
    )
    for name in TABLES
)
