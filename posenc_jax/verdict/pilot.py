"""The pilot of a verdict: the number of paired seeds that fit into a time, from the speed of a few steps."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from pathlib import Path

from posenc_jax.config import Run, config_hash
from posenc_jax.drawing.quantities import duration
from posenc_jax.encodings.slots import Slot
from posenc_jax.results.timing import PhaseTiming, read_timing
from posenc_jax.runs.cell import run
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.targets import target_here
from posenc_jax.verdict.interim import fastest_first, first_seeds
from posenc_jax.verdict.tables import MOST_RATES, Table

MOST_SEEDS = 1000
STEPS = 100
"""Steps that are timed."""


def affordable(
    encodings: Mapping[str, Slot],
    tables: Mapping[str, Table],
    hours: float,
    directory: Path,
    *,
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
) -> int:
    """The number of seeds of all encodings on all tables that train and are evaluated in ``hours``, without compiling,
    each table once, even if every grid of learning rates grows to `MOST_RATES`.

    A few steps of the last encoding on the fastest table are timed; the times of the others follow from their
    operations. The timing stays in ``directory``, so that the same question has the same answer.

    Raises:
      RefusedError: the time does not suffice for two seeds.
    """
    (label, slot), name = list(encodings.items())[-1], fastest_first(tables)[0]
    timed = _timed(tables[name], label, slot, directory / "pilot", reporter, stop)
    target = target_here()
    cells = [table.cell(own, its, (0,)) for table in tables.values() for its, own in encodings.items()]
    work = [plan_of(cell, target).operations for cell in cells]
    grown = [own * _longest(cell) / len(cell.learning_rates) for own, cell in zip(work, cells, strict=True)]
    soonest, latest = (sum(own) * timed.seconds / timed.operations for own in (work, grown))
    seeds = math.floor(min(3600 * hours / latest, MOST_SEEDS))
    step = f"a step of {label} on {name} takes {1e3 * timed.seconds / timed.steps:.1f} ms"
    each = f"one seed of {len(encodings)} encodings on {len(tables)} table{'s' * (len(tables) != 1)} {duration(latest)}"
    each += f", or {duration(soonest)} if no grid of learning rates grows" * (soonest < latest)
    if seeds < 2:
        raise RefusedError(
            f"--hours {hours:g} affords no two paired seeds ({step}, {each}): write --hours {_above(latest / 1800):g} "
            f"or more, or ask about fewer encodings; if other work slowed these steps, remove {directory / 'pilot'} to "
            "time them again"
        )
    reporter.note(
        f"pilot: {step}, {each}, so {seeds} paired seeds fit into {hours:g} hour{'s' * (hours != 1)}, not counting "
        "compilation; what is not learned is not trained again with twice the steps: --seeds in place of --hours does "
        "that"
    )
    return seeds


def _longest(cell: Run) -> int:
    """The number of learning rates to which the grid of a cell may grow; a single rate stays alone."""
    return max(MOST_RATES, len(cell.learning_rates)) if len(cell.learning_rates) > 1 else 1


def estimate(
    encodings: Mapping[str, Slot], tables: Mapping[str, Table], seeds: tuple[int, ...], *, once: bool = False
) -> str:
    """A line on the time that so many seeds take, before any of them is trained, by the operations of all; unless
    ``once``, also on the most that a second training takes, with twice the steps.
    """
    target = target_here()
    longer = [] if once else [table.at_twice_the_steps for table in tables.values()]
    first, again = (
        [table.cell(own, its, seeds) for table in some for its, own in encodings.items()]
        for some in (tables.values(), longer)
    )

    def time(cells: list[Run]) -> str:
        hours = [plan_of(cell, target).hours for cell in cells]
        return duration(None if None in hours else max(0.01, 3600 * sum(filter(None, hours))))

    more = f", and up to {time(again)} more where a table is not learned and trained again" if again else ""
    each = f"{len(encodings)} encodings on {len(tables)} table{'s' * (len(tables) != 1)}"
    return (
        f"{sum(len(cell.replicas) for cell in first)} trainings of {each}: about {time(first)} on "
        f"{target.count} x {target.chip.title}, excluding compilation; less if some are finished already, more if the "
        f"grid of learning rates grows{more}"
    )


def _above(hours: float) -> float:
    """Hours rounded up to two digits."""
    digits = 1 - math.floor(math.log10(hours))
    return math.ceil(hours * 10**digits) / 10**digits


def _timed(
    table: Table, label: str, slot: Slot, directory: Path, reporter: Reporter, stop: Callable[[], int | None]
) -> PhaseTiming:
    """The time of a few steps of the seeds that train together."""
    cell = table.cell(slot, label, first_seeds(table, table.run.seeds))
    steps = min(STEPS, cell.training.steps)
    none = {"checkpoint_every": 0, "keep_every": 0, "validate_every": 0, "curriculum_every": 0}
    training = dataclasses.replace(cell.training, steps=steps, log_every=steps, averaged_checkpoints=1, **none)
    evaluation = dataclasses.replace(cell.evaluation, lengths=cell.evaluation.lengths[:1], num_examples=1)
    optimizer = dataclasses.replace(cell.optimizer, warmup_steps=min(cell.optimizer.warmup_steps, steps // 2))
    cell = dataclasses.replace(cell, training=training, evaluation=evaluation, optimizer=optimizer)
    cell = dataclasses.replace(cell, learning_rates=cell.learning_rates[:1])
    home = directory / cell.directory_name
    run(cell, home, reporter=reporter, stop=stop)
    timing, problems = read_timing(home, config_hash(cell))
    if timing is None or "train" not in timing.measured:
        raise RefusedError(f"{home} does not say how long its steps took ({'; '.join(problems)}): remove it")
    return timing.measured["train"]
