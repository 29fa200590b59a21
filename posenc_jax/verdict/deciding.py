"""A verdict: measures every encoding on every table, and compares."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

from posenc_jax.encodings.interface.slots import Slot
from posenc_jax.environments import between, history
from posenc_jax.files.shapes import Json
from posenc_jax.runs.environment import environment
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.reporter import Reporter
from posenc_jax.statistics import widened
from posenc_jax.verdict.card import Card, judged
from posenc_jax.verdict.cells import distinct
from posenc_jax.verdict.finding import Finding, listed
from posenc_jax.verdict.interim import fastest_first, first_seeds, forecast, look, sees, time_of
from posenc_jax.verdict.measuring import Measured, histories, measure
from posenc_jax.verdict.tables import MOST_RATES, Table


def decide(
    ours: Mapping[str, Slot],
    baselines: Mapping[str, Slot],
    tables: Mapping[str, Table],
    directory: Path,
    *,
    seeds: tuple[int, ...],
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
    clock: Callable[[], float] = lambda: 0.0,
    once: bool = False,
) -> Card:
    """Measures what is missing, in folders of ``directory`` that verdicts share, and compares.

    Encodings that did not learn a table, or whose baseline did not, are trained once more on all such tables, beside
    all baselines, with twice the steps and learning rates chosen anew, unless ``once``.

    The fastest table comes first, with a few seeds of all encodings; each table's difference is reported as soon as it
    is known. After a stop the same call goes on: no verdict runs a finished seed again.
    """
    encodings = {**baselines, **ours}  # the baselines first: what they leave to be seen is known before the run
    elsewhere = _compared(encodings, tables, directory, seeds)
    grids = dict(tables)
    order = fastest_first(tables)
    untested = [f"{name} {own.not_a_test}" for name, own in tables.items() if own.not_a_test and not once]
    if untested:
        reporter.note(f"not a test of what was published: {', '.join(untested)}")
    total = len(tables) * len(encodings)

    def of_table(place: int, some: tuple[int, ...], *, otherwise: bool = True) -> dict[str, Measured]:
        name, left = order[place], len(order) - place - 1
        table, found = grids[name], dict[str, Measured]()
        for number, (own, its_slot) in enumerate(encodings.items(), place * len(encodings)):
            if own == next(iter(ours)) and some == seeds:
                for line in forecast(table, found, len(seeds), len(tables) * len(baselines) * len(ours)):
                    reporter.note(line)
            reporter.cell(f"{name} {own}", number, total)
            found[own] = measure(
                table,
                its_slot,
                own,
                directory,
                seeds=some,
                reporter=reporter,
                stop=stop,
                clock=clock,
                otherwise=otherwise,
            )
        theirs = {own: found[own] for own in baselines}
        for line in (line for own in ours for line in look(table, found[own], theirs, some, len(seeds), left)):
            reporter.note(line)
        return found

    if order:
        few = first_seeds(tables[order[0]], seeds)
        there = (histories(tables[order[0]], slot, own, directory, few)[1] for own, slot in encodings.items())
        if few != seeds and not all(there):
            found, rows = of_table(0, few, otherwise=False), len(tables) * len(baselines) * len(ours)
            first, theirs = ({own: found[own] for own in side} for side in (ours, baselines))
            for line in sees(tables[order[0]], first, theirs, len(seeds), rows):
                reporter.note(line)
    by_table = {}
    for place, name in enumerate(order):
        by_table[name] = of_table(place, seeds)
        while (wider := _wider(grids[name], by_table[name])) is not None:
            rates = ", ".join(f"{rate:g}" for rate in wider.run.learning_rates)
            why = "half of the seeds of an arm do best at an end of the grid, so all arms get a longer one"
            added = tuple(rate for rate in wider.run.learning_rates if rate not in grids[name].run.learning_rates)
            extra = dataclasses.replace(wider, run=dataclasses.replace(wider.run, learning_rates=added))
            reporter.note(f"{name}: {why}: {rates}, which takes about {time_of(encodings, [extra], seeds)} more")
            elsewhere += _compared(encodings, {name: wider}, directory, seeds)
            grids[name] = wider
            by_table[name] = of_table(place, seeds)
    measured = {own: {name: by_table[name][own] for name in tables} for own in (*ours, *baselines)}
    card = Card(
        labels=tuple(ours),
        baselines=tuple(baselines),
        tables={name: grids[name].floored for name in tables},
        measured=measured,
        seeds=seeds,
        elsewhere=tuple(dict.fromkeys(elsewhere)),
        environments=distinct(
            own for by_table in measured.values() for found in by_table.values() for own in found.environments
        ),
        seconds=sum(found.seconds for by_table in measured.values() for found in by_table.values()),
    )
    card = judged(card)
    unlearned = [own for own in card.findings if _would_learn(card, own)]
    if once or not unlearned:
        return card
    labels, names = (list(dict.fromkeys(own)) for own in zip(*((found.label, found.table) for found in unlearned)))
    reporter.note(
        f"not learned: {_unlearned(unlearned)}; so {listed(labels)} beside {listed([*baselines])} once more with twice "
        f"the steps on {listed(names)}"
    )
    twice = decide(
        {label: ours[label] for label in labels},
        baselines,
        {name: grids[name].at_twice_the_steps for name in names},
        directory,
        seeds=seeds,
        reporter=reporter,
        stop=stop,
        clock=clock,
        once=True,
    )
    return judged(dataclasses.replace(card, twice=twice))


def _would_learn(card: Card, found: Finding) -> bool:
    """True where an arm did not learn a table and more steps may help: an encoder without positions cannot."""
    sides = zip((found.label, found.baseline), found.learned, strict=True)
    return any(known is False and not card.orderless(own, found.table) for own, known in sides)


def _unlearned(findings: list[Finding]) -> str:
    """Tables with the arms that did not learn them, such as ``parity by ALiBi and RoPE``."""
    arms: dict[str, dict[str, None]] = {}
    for found in findings:
        sides = zip((found.label, found.baseline), found.learned, strict=True)
        arms.setdefault(found.table, {}).update(dict.fromkeys(own for own, known in sides if known is False))
    return ", ".join(f"{table} by {listed([*own])}" for table, own in arms.items())


def _wider(table: Table, found: Mapping[str, Measured]) -> Table | None:
    """The table with a wider grid of learning rates, or None where no arm prefers an end of it or it may not grow."""
    rates = widened(table.run.learning_rates, [own.tried for own in found.values()], MOST_RATES)
    run = dataclasses.replace(table.run, learning_rates=rates)
    return None if run == table.run else dataclasses.replace(table, run=run)


def _compared(
    encodings: Mapping[str, Slot], tables: Mapping[str, Table], directory: Path, seeds: tuple[int, ...]
) -> tuple[str, ...]:
    """Differences from the first environment, in words, of the environments of existing groups, and of this process if
    groups are missing; only rounding may differ.

    Raises:
      RefusedError: they draw other random numbers, so that no seeds would be pairs.
    """
    found: dict[str, Json] = {}
    missing = False
    for table in tables.values():
        for own, slot in encodings.items():
            begun, all_there = histories(table, slot, own, directory, seeds)
            found |= begun
            missing |= not all_there
    if found and missing:
        found["what is to be computed now"] = history({"began": environment()})
    first = next(iter(found), "")
    others = [(name, between(found[first], own)) for name, own in found.items()]
    for name, differs in others:
        if differs.draws:
            raise RefusedError(
                f"{name} draws other random numbers than {first} ({'; '.join(differs.draws)}), and a verdict compares "
                "seeds that drew the same: set that back, or choose another directory"
            )
    return tuple(dict.fromkeys(line for _, differs in others for line in differs.lines))
