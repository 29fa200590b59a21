"""A published table from nothing to ours beside theirs."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

from posenc_jax.config import Ablation, Published
from posenc_jax.files import write_changed
from posenc_jax.runs.ablation import ablate
from posenc_jax.runs.errors import FailedCellsError, StoppedError
from posenc_jax.runs.reporter import Reporter
from posenc_jax.verdict.cells import Results, collect, read_results, save_results
from posenc_jax.verdict.published import README, RESULTS, Folder, Selection
from posenc_jax.verdict.published_page import section, with_section


def check(folder: Folder, config: Ablation) -> None:
    """ValueError for a direction between arms that the ablation does not have, which could never be judged, and for a
    README without the marks for results.
    """
    with_section((folder.path / README).read_text(), "", folder.path / README)
    arms = {(run.table, run.label) for run in config.runs}
    for direction in folder.directions:
        table, where = direction.selection.table, direction.selection.where
        for label in (direction.better, direction.worse):
            if (table, label) not in arms:
                raise ValueError(
                    f"{folder.name}: a direction names {label!r} in table {table!r}, and its ablation has no such "
                    f"cell; it has {', '.join(sorted(f'{of} {own}' for of, own in arms))}"
                )
        lengths = {n for run in config.runs if run.table == table for n in run.evaluation.lengths}
        if isinstance(where, int) and where not in lengths:
            raise ValueError(
                f"{folder.name}: a direction is about length {where} of table {table!r}, which is measured at "
                f"{', '.join(map(str, sorted(lengths)))} only"
            )


def run_table(
    folder: Folder,
    config: Ablation,
    directory: Path,
    *,
    reporter: Reporter,
    stop: Callable[[], int | None] = lambda: None,
) -> Results:
    """Runs what is not there yet in ``directory``, then writes ``results.json`` and the README's section in the table's
    folder. The same call resumes.

    Raises:
      FailedCellsError: some cells failed. StoppedError: ``stop`` asked for it. What is finished is written even so,
        unless the folder has results of more.
    """
    check(folder, config)
    try:
        ablate(with_published(folder, config), directory, reporter=reporter, stop=stop)
    except (FailedCellsError, StoppedError):
        with contextlib.suppress(ValueError):  # nothing is finished yet
            found = collect(directory, _selections(folder))
            before = read_results(folder.path / RESULTS)
            if before is None or _replicas(before) <= _replicas(found):
                _write(folder, found)
        raise
    results = collect(directory, _selections(folder))
    _write(folder, results)
    return results


def _replicas(results: Results) -> set[tuple[str, str, int]]:
    """Table, label and seed of all that has been run."""
    return {
        (cell.table, cell.label, seed)
        for cell in results.cells
        for seed in {
            *cell.diverged,
            *(s for by_length in cell.by_metric.values() for own in by_length.values() for s in own),
        }
    }


def _write(folder: Folder, results: Results) -> None:
    save_results(results, folder.path / RESULTS)
    readme = folder.path / README
    write_changed(readme, with_section(readme.read_text(), section(folder, results), readme))


def with_published(folder: Folder, config: Ablation) -> Ablation:
    """The ablation with their numbers, so that its report shows them too."""
    metric = {run.table: run.task.metric for run in config.runs}
    shown = tuple(
        Published(
            column.selection.table,
            label,
            folder.source,
            metric=column.theirs,
            value=value * column.scale,
            lengths="those of training" if column.selection.where == "within" else "",
        )
        for column in folder.columns
        if column.selection.table in metric and column.selection.metric in ("", metric[column.selection.table])
        for label, value in column.values.items()
        if value is not None and not isinstance(column.selection.where, int)
    )
    return dataclasses.replace(config, published=shown)


def _selections(folder: Folder) -> Iterator[Selection]:
    yield from (column.selection for column in folder.columns)
    yield from (direction.selection for direction in folder.directions)
