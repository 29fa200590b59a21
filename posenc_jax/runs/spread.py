"""An ablation in tasks: each group of a cell in a process of its own, on this machine or a cluster; one record at last.

Whoever gives out the tasks holds the ablation's directory, and each task the directory of its group, so that distinct
groups are worked on at once, and none twice. The only truth about a task is the ``result.json`` of its group.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence

from posenc_jax.config import Ablation, Run, without_effect
from posenc_jax.files.atomic import refuse_links
from posenc_jax.files.user_paths import full
from posenc_jax.results import AblationResult, read_result
from posenc_jax.runs.ablation import read_cells, refuse_failures
from posenc_jax.runs.ablation_record import write_results
from posenc_jax.runs.cell import Engine
from posenc_jax.runs.directory import Stored, groups_of, is_group, read_stored
from posenc_jax.runs.environment import threads
from posenc_jax.runs.errors import RefusedError
from posenc_jax.runs.files import in_turn
from posenc_jax.runs.groups import groups_of_missing, read_begun, take_over
from posenc_jax.runs.identity import keep_start, owned, refuse_other, take
from posenc_jax.runs.preflight import check_run
from posenc_jax.runs.reporter import SILENT, Reporter
from posenc_jax.runs.supply import load_data
from posenc_jax.training.layout import Devices

Launch = Callable[[Sequence[str], Callable[[str], None]], dict[str, str]]
"""Runs tasks, each called ``CELL/group-000``, and tells the second argument of each that has ended. Returns, for those
that came to no end, why.
"""


def ablate_in_tasks(
    config: Ablation,
    directory: str | os.PathLike[str],
    launch: Launch,
    devices: Devices,
    *,
    accept_changed_code: bool = False,
    reporter: Reporter = SILENT,
    stop: Callable[[], int | None] = lambda: None,
) -> AblationResult:
    """`posenc_jax.runs.ablation.ablate`, with the groups of all cells given to ``launch`` at once.

    Args:
      devices: those of one task, by which replicas are laid out in groups.
      launch: runs `run_task` for each task.

    Raises:
      RefusedError, FailedCellsError, StoppedError: as `ablate`.
    """
    directory = full(directory).absolute()

    def checked(stored: Stored) -> list[Run]:
        cells = read_cells(config, stored, accept_changed_code=accept_changed_code, on=devices)
        to_run = [cell.config for cell in cells if not cell.complete]
        _refuse_starts(to_run)
        return to_run

    with owned(directory, checked) as (stored, to_run):
        take(stored, config)
        if not to_run:
            reporter.note(f"{directory} is already complete: nothing to do")
        for line in without_effect(to_run):
            reporter.note(line)
        tasks: dict[str, Run] = {}
        failures: dict[str, Run] = {}
        for cell in to_run:
            try:
                home = directory / cell.directory_name
                refuse_links(directory, home)
                with in_turn(home, reporter, stop):
                    begun = read_begun(read_stored(home), cell, accept_changed_code=accept_changed_code)
                    take_over(begun, cell)
                    load_data(cell, home, reporter.note)  # and keep its tokenizer, before tasks ask for it
                    groups = groups_of_missing(cell, begun, devices)
                tasks |= {str(group.directory.relative_to(directory)): cell for group in groups}
            except ValueError as error:  # one broken cell must not cost the others
                failures[f"{cell.table} {cell.label}: {error}"] = cell
        if tasks:
            reporter.phase("train and measure", len(tasks), unit="groups")
        without = launch(list(tasks), lambda name: reporter.advance(1, name)) if tasks else {}
        for name in tasks:  # own code may have ended its process as if all were well
            if name not in without and not (directory / name / "result.json").exists():
                without[name] = "it ended without a result"
        for name, why in without.items():
            failures[f"{tasks[name].table} {tasks[name].label} ({name}): {why}"] = tasks[name]
        write_results(directory, config)
    refuse_failures(list(failures), len(set(failures.values())), len(config.runs))
    return read_result(directory)


def _refuse_starts(to_run: Sequence[Run]) -> None:
    unfinished = {cell.as_start: cell.label for cell in to_run}
    for cell in to_run:
        if cell.init_from in unfinished:
            raise RefusedError(
                f"{cell.table} {cell.label} starts from {unfinished[cell.init_from]}, which is not finished, and tasks "
                "run all at once: run the ablation without --executor, or those cells first"
            )


def run_task(
    config: Ablation,
    directory: str | os.PathLike[str],
    name: str,
    *,
    accept_changed_code: bool = False,
    reporter: Reporter = SILENT,
    stop: Callable[[], int | None] = lambda: None,
) -> None:
    """Runs one group of an ablation that `ablate_in_tasks` has begun; nothing where it has its result already.

    Args:
      name: ``CELL/group-000``, below the ablation's directory.

    Raises:
      RefusedError: the directory holds another ablation, or no such group. CheckpointError, StoppedError: as
        `posenc_jax.runs.cell.run`.
    """
    directory = full(directory).absolute()
    refuse_other(read_stored(directory), config, accept_changed_code=accept_changed_code)
    cells = {cell.directory_name: cell for cell in config.runs}
    cell, home = cells.get(name.rpartition("/")[0]), directory / name
    if cell is None or not is_group(home) or not (home / "config.json").is_file():
        raise RefusedError(f"{directory} has no group {name!r}: it is made by `posenc ablate --executor ...`")
    stored = read_stored(home.parent)
    refuse_other(stored, cell, accept_changed_code=accept_changed_code)
    (group,) = (group for group in groups_of(stored, cell) if group.directory == home)
    if (home / "result.json").exists():
        reporter.note(f"{home} is already complete: nothing to do")
        return
    check_run(
        dataclasses.replace(cell, execution=dataclasses.replace(cell.execution, group_size=group.size)),
        directory=home.parent,
    )
    with in_turn(home.parent, reporter, stop):
        data = load_data(cell, home.parent, reporter.note)
        keep_start(cell, home.parent)
    Engine(cell, reporter, stop, data).run_group(group)


def shares(count: int, whole: Devices) -> tuple[Devices, list[dict[str, str]]]:
    """This machine, of which one process alone would have the devices ``whole``, in equal parts: the devices of one,
    and for each the variables that give its processes their accelerators or cores. NPROC, where it is set, is the
    number of cores of each. RefusedError where there are fewer accelerators.
    """
    if whole.on_cpu:
        cores = threads() if os.environ.get("NPROC") else max(1, threads() // count)
        memory = None if whole.memory is None else whole.memory // count
        return Devices(cores, "cpu", memory), [{"NPROC": str(cores)}] * count
    each = whole.count // count
    if each < 1 or whole.backend != "gpu":
        raise RefusedError(
            f"--parallel {count}: each process needs a GPU of its own, and there are {whole.count} "
            f"{whole.backend.upper()}s: take fewer, or `posenc ablate` without --executor, which uses all"
        )
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = visible.split(",") if visible else [str(number) for number in range(whole.count)]
    parts = [",".join(names[start : start + each]) for start in range(0, each * count, each)]
    return dataclasses.replace(whole, count=each), [{"CUDA_VISIBLE_DEVICES": part} for part in parts]
