"""Words on a verdict before all tables give one: its time, and differences on single tables."""

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping

from posenc_jax.drawing.quantities import difference, duration
from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.results.averages import comparison_of
from posenc_jax.runs.plan import plan_of
from posenc_jax.runs.targets import target_here
from posenc_jax.statistics import detectable
from posenc_jax.training.operations import of_step
from posenc_jax.training.replicas import devices_here, mode_of
from posenc_jax.verdict.card_tables import mean_text
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.rule import best_case
from posenc_jax.verdict.tables import Table


def fastest_first(tables: Mapping[str, Table]) -> list[str]:
    """The names of the tables by the operations that a training takes, the fewest first."""

    def operations(name: str) -> int:
        run = tables[name].run
        return of_step(run).operations * run.training.steps

    return sorted(tables, key=operations)


def first_seeds(table: Table, seeds: tuple[int, ...]) -> tuple[int, ...]:
    """The seeds that are measured first: those that train at once here, at least two; or all, where replicas share a
    program and last bits depend on their number.
    """
    if mode_of(table.run.execution) == "vmap":
        return seeds
    return seeds[: max(2, devices_here().count)]


def look(
    table: Table, ours: Measured, theirs: Mapping[str, Measured], seeds: tuple[int, ...], asked: int, left: int
) -> Iterator[str]:
    """A line for each baseline: both means, their difference and the work that is left.

    Args:
      theirs: baseline -> what it scored.
      seeds: those measured, of ``asked``.
      left: other tables to be measured.
    """
    few = len(seeds) < asked
    of = f"first look at {table.name}, {len(seeds)} of {asked} seeds" if few else f"{table.name}, {asked} seeds"
    rest = [f"{asked - len(seeds)} more seeds"] * few + [f"{left} more table{'s' * (left != 1)}"] * (left > 0)
    then = f" ({' and '.join(rest)} to go)" if rest else ""
    for baseline, other in theirs.items():
        found = comparison_of(ours.scores, other.scores, table.asked.kind, table.floored.beyond)
        means = f"{ours.label} {mean_text(ours, table.asked.kind)}, {baseline} {mean_text(other, table.asked.kind)}"
        found = found._replace(low=None) if few else found  # an interval of a first look is no reason to stop
        yield f"{of}: {table.asked.kind.title} {means}; difference {difference(found, table.asked.kind)}{then}"


def sees(
    table: Table, ours: Mapping[str, Measured], theirs: Mapping[str, Measured], asked: int, rows: int
) -> Iterator[str]:
    """A line on the difference that ``asked`` seeds can detect, if their spread is that of the first ones.

    Args:
      ours, theirs: label -> what it scored.
      asked: how many seeds are to be compared.
      rows: how many are corrected together.
    """
    kind, squares = table.asked.kind, list[float]()
    for one, other in ((one, other) for one in ours.values() for other in theirs.values()):
        inner = [
            kind.inner(one.scores[s]) - kind.inner(other.scores[s]) for s in one.scores.keys() & other.scores.keys()
        ]
        squares += [statistics.variance(inner)] if len(inner) > 1 else []
    deviation = math.sqrt(statistics.fmean(squares)) if squares else 0.0
    if deviation:
        least = kind.show(kind.outer(detectable(deviation, asked, confidence=1 - 0.05 / rows)))
        yield (
            f"with the spread of these, {asked} seeds find a difference of {least} on {table.name} in 8 of 10 repeats, "
            f"corrected for {rows} row{'s' * (rows != 1)}; so few seeds show little of the spread, which may be larger"
        )


def forecast(table: Table, theirs: Mapping[str, Measured], asked: int, rows: int) -> Iterator[str]:
    """A line for each baseline that ``asked`` seeds could not tell from a better arm.

    Args:
      theirs: baseline -> what it scored.
      asked: how many seeds are compared.
      rows: how many are corrected together.
    """
    for baseline, other in theirs.items():
        case = best_case(table.asked.kind, table.floored.beyond, other.scores, (1.0,) * (rows - 1))
        if not other.scores or "better" in case.seen:
            continue
        enough = "no number would be enough" if case.would_do is None else f"{case.would_do} would be enough for it"
        worse = "; a worse arm could be" if "worse" in case.seen else "; nor could a worse arm"
        yield (
            f"on {table.name} even a perfect arm could not be told from {baseline} with {asked} seeds, "
            f"corrected for {rows} row{'s' * (rows != 1)} ({enough}){worse}"
        )


def estimate(
    encodings: Mapping[str, Slot], tables: Mapping[str, Table], seeds: tuple[int, ...], *, once: bool = False
) -> str:
    """A line on the time that so many seeds take, before any of them is trained, by the operations of all; unless
    ``once``, also on the most that a second training takes, with twice the steps.
    """
    target, every = target_here(), tables.values()
    again = "" if once else time_of(encodings, [table.at_twice_the_steps for table in every], seeds)
    more = f", and up to {again} more where a table is not learned and trained again" if again else ""
    each = f"{len(encodings)} encodings on {len(tables)} table{'s' * (len(tables) != 1)}"
    count = len(encodings) * len(seeds) * sum(len(table.run.learning_rates) for table in every)
    return (
        f"{count} trainings of {each}: about {time_of(encodings, every, seeds)} on "
        f"{target.count} x {target.chip.title}, excluding compilation; less if some are finished already, more if the "
        f"grid of learning rates grows{more}"
    )


def time_of(encodings: Mapping[str, Slot], some: Iterable[Table], seeds: tuple[int, ...]) -> str:
    """The time of all trainings on some tables here, by the number of their operations."""
    cells = [table.cell(slot, label, seeds) for table in some for label, slot in encodings.items()]
    hours = [plan_of(cell, target_here()).hours for cell in cells]
    return duration(None if None in hours else max(0.01, 3600 * sum(filter(None, hours))))
