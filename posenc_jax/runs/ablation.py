"""An ablation: every cell run, one after the other, and one record of their results."""

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from posenc_jax.config import Ablation, Run, to_json, without_effect
from posenc_jax.data.text.base import TextTask
from posenc_jax.files.atomic import refuse_links
from posenc_jax.files.fields import in_words, value_text, varying
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import full
from posenc_jax.refusals import exits_as_errors
from posenc_jax.results import AblationResult, read_result
from posenc_jax.runs.ablation_record import StoredCell, read_homes, stored_cell, stored_cells, write_record
from posenc_jax.runs.cell import run
from posenc_jax.runs.directory import Stored, read_stored
from posenc_jax.runs.errors import FailedCellsError, RefusedError, StoppedError
from posenc_jax.runs.estimate import foretell, seconds_of
from posenc_jax.runs.groups import refuse_damaged_metrics
from posenc_jax.runs.identity import changed_code, owned, refuse_changed_code, refuse_other, refuse_other_start, take
from posenc_jax.runs.own_code import digests
from posenc_jax.runs.preflight import check_run, refuse_several_processes
from posenc_jax.runs.programs import KnownPrograms, UncompiledPrograms, likeness, replicas_of
from posenc_jax.runs.reporter import SILENT, Reporter
from posenc_jax.runs.state import abstract_state
from posenc_jax.runs.supply import Supply, refuse_other_corpora, refuse_other_tokenizers, refuse_unfit
from posenc_jax.runs.targets import devices_with_memory, target_here
from posenc_jax.training.batches import buckets
from posenc_jax.training.layout import Devices, in_one_memory, layout_of
from posenc_jax.training.processes import count


def ablate(
    config: Ablation,
    directory: str | os.PathLike[str],
    *,
    accept_changed_code: bool = False,
    reporter: Reporter = SILENT,
    stop: Callable[[], int | None] = lambda: None,
) -> AblationResult:
    """Runs every cell that has no result yet, then writes ``results.jsonl`` and ``ablation.json``.

    `posenc_jax.report.build` makes tables, figures and a page of them.

    Args:
      config: the comparison.
      directory: where its cells live, one folder each. The same command on the same directory resumes.
      accept_changed_code: whether to go on where an own encoding, task or metric has changed since; the record then
        says which code computed what.
      reporter: hears progress (default: nobody; commands show it).
      stop: asked at every call boundary; a signal number ends the ablation with its state saved.

    Returns:
      The results: rows, means and paired differences; `posenc_jax.report.build` draws a report of the same
      directory.

    Raises:
      RefusedError: the directory holds an ablation in which a cell of the same name has another config (with the
        differences), or results of other code of the user's; or a text does not fill the batches.
      DataError: a text is not there.
      FailedCellsError: some cells failed; the others are complete and in the results.
      StoppedError: ``stop`` asked for it.
    """
    directory = full(directory).absolute()
    failures = []
    check = functools.partial(read_cells, config, accept_changed_code=accept_changed_code)
    with owned(directory, check) as (stored, cells), Ahead() as ahead:
        take(stored, config)
        to_run = [number for number, cell in enumerate(cells) if not cell.complete]
        if not to_run:
            reporter.note(f"{directory} is already complete: nothing to do")
        runs = [cells[number].config for number in to_run]
        for line in without_effect(runs):
            reporter.note(line)
        seconds = seconds_of(runs, target_here())
        foretell(reporter.note, seconds, "fewer cells, seeds, training.steps or evaluation.lengths")
        alike = [likeness(cells[number].config) for number in to_run]
        busy = set[Any]()
        known = {word: KnownPrograms({}, {} if alike.count(word) > 1 else None, under_way=busy) for word in {*alike}}
        telling = varying([to_json(cell) for cell in config.runs])
        for done, number in enumerate(to_run):
            cell, home = cells[number].config, cells[number].home
            reporter.cell(f"{cell.table} {cell.label}{_beside(cell.label, telling[number])}", done, len(to_run))
            for word, coming in zip(alike[done : done + 2], to_run[done : done + 2]):
                if not cells[coming].groups:
                    ahead.prepare(cells[coming].config, known[word])
            try:
                refuse_links(directory, home)
                with exits_as_errors():
                    heard: dict[str, Any] = {"reporter": reporter, "stop": stop, "known": known[alike[done]]}
                    run(cell, home, accept_changed_code=accept_changed_code, **heard)
            except StoppedError:
                raise
            except Exception as error:  # one broken cell must not cost the others
                failures.append(f"{cell.table} {cell.label}: {type(error).__name__}: {error}")
                reporter.note(f"cell failed, going on with the others. {failures[-1]}")
            if alike[done] not in alike[done + 1 :]:
                del known[alike[done]]
            cells[number] = stored_cell(cell, read_stored(home), cells[number].varying)
            write_record(directory, config, cells)
            if cells[number].complete and number != to_run[-1]:
                reporter.recorded(directory)
        write_record(directory, config, cells)
    refuse_failures(failures, len(failures), len(config.runs))
    return read_result(directory)


def _beside(label: str, fields: Json) -> str:
    """The values of fields that a label does not name, in brackets."""
    said = {name: own for name, own in fields.items() if f"{name.rpartition('.')[2]}={value_text(own)}" not in label}
    return f" ({in_words(said)})" if said else ""


def read_cells(
    config: Ablation, stored: Stored, *, accept_changed_code: bool, on: Devices | None = None
) -> list[StoredCell]:
    """Reads the stored part of each cell once, after checking that the incomplete cells may be run.

    Args:
      stored: the directory.
      on: the devices that they will run on, where these are not the ones of this process.

    Raises:
      RefusedError: as `ablate`; nothing has been written then.
    """
    refuse_several_processes("an ablation")
    for own in config.runs:
        if not own.evaluation.lengths:
            raise RefusedError(
                f"{own.table} {own.label}: evaluation.lengths is empty, and an ablation compares scores: give one at "
                "least"
            )
    homes = read_homes(stored.directory, config)
    refuse_other(stored, config, accept_changed_code=accept_changed_code)
    if not accept_changed_code:
        for own, home in zip(config.runs, homes, strict=True):
            refuse_changed_code(stored.directory, changed_code(home, digests(own)))
    cells = stored_cells(config, homes)
    for cell in cells:  # what is damaged beyond repair is told before hours of training, not after
        for group, result in cell.groups:
            refuse_damaged_metrics(group, result)
    for cell in cells:
        if cell.complete:
            refuse_other_tokenizers(cell.config, cell.home)
            refuse_other_start(cell.config, cell.home)
    for cell in cells:
        if not cell.complete:
            check_run(cell.config, on)
    places = {cell.config: cell.home for cell in cells}
    refuse_other_corpora(places, {cell.config for cell in cells if not cell.complete})
    refuse_unfit(places)
    return cells


def refuse_failures(failures: list[str], failed: int, cells: int) -> None:
    """FailedCellsError where ``failed`` of so many cells did: a line for each failure."""
    if failures:
        raise FailedCellsError(
            f"{failed} of {cells} cells failed (run the same command again to repeat only them):\n  "
            + "\n  ".join(failures)
        )


class Ahead:
    """Compiles ahead of runs, one program after the other; leaving it waits for the one that is being compiled.

    Compiling mostly uses one core, and no result depends on when it happens. It serves CPUs only: the compiler for a
    GPU times kernels on it, which a training would disturb.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "ahead")
        self._left = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._left = True
        self._pool.shutdown(cancel_futures=True)

    def prepare(self, config: Run, known: KnownPrograms) -> None:
        """Compiles the programs of a cell that no other thread compiles. Tasks on text need their data first, so it
        skips them. Errors are left to the cell, which meets them again.
        """
        if not isinstance(config.task, TextTask):
            self._pool.submit(self._prepare, config, known)

    def _prepare(self, config: Run, known: KnownPrograms) -> None:
        devices = devices_with_memory()
        if not devices.on_cpu or count() > 1:
            return
        size = layout_of(config, len(config.replicas), devices).size
        state = abstract_state(config, size)
        parts, replicas = UncompiledPrograms(config, Supply(config, None), size, known), replicas_of(state)
        _, at_once = in_one_memory(config.execution, size, devices)
        coming = [parts.train(state, None), parts.validate(replicas)]
        found = buckets(config, config.evaluation.lengths, at_once, devices.backend)
        coming += [parts.evaluate(own, replicas) for own in found]
        for part in coming:
            if self._left:
                return
            known.make(part)
