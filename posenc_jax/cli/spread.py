"""Distribution of the groups of ``posenc ablate``: one after the other here, or as tasks here or on a cluster."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from posenc_jax.cli.errors import Parser, UsageError, whole
from posenc_jax.config import Ablation
from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.refusals.own_exits import exits_as_errors

if TYPE_CHECKING:
    from posenc_jax.runs.reporter import Reporter

HELP = """Many processes or machines:
  --local N            run N processes on this machine, each with its share of the cores or GPUs
  --slurm              submit a SLURM array with one task for each group of a cell, through submitit
    --partition NAME, --gpus N, --cpus N   resources of each task
    --time TIME        time limit of each task, as in SLURM (default: 1:00:00); at the limit the task saves its state,
                       is requeued, and resumes
    --parallel N       run at most N tasks at once
  --group CELL/group-000   run only this group, made by --local or --slurm, which call this in their tasks"""


@dataclasses.dataclass(frozen=True)
class Spread:
    """Options of the command line for the distribution.

    Attributes:
      local: processes at once.
      slurm: what each task asks for (of `Allocation`), or None.
      group: the only one to run.
      overrides: what else it says.
    """

    local: int | None
    slurm: dict[str, Any] | None
    group: str | None
    overrides: list[str]


def read_spread(arguments: list[str]) -> Spread:
    """The options of `HELP` and the other arguments; UsageError for what is wrong with the former."""
    parser = Parser(prog="posenc ablate", add_help=False, allow_abbrev=False)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--local", type=whole(1, 2**16))
    where.add_argument("--slurm", action="store_true")
    where.add_argument("--group")
    of_slurm = {
        "partition": parser.add_argument("--partition"),
        "gpus": parser.add_argument("--gpus", type=whole(1, 2**16)),
        "cpus": parser.add_argument("--cpus", type=whole(1, 2**16)),
        "minutes": parser.add_argument("--time", dest="minutes", type=minutes),
        "parallel": parser.add_argument("--parallel", type=whole(1, 2**16)),
    }
    found, rest = parser.parse_known_args(arguments)
    asked = {name: getattr(found, name) for name in of_slurm if getattr(found, name) is not None}
    if asked and not found.slurm:
        raise UsageError(f"{of_slurm[next(iter(asked))].option_strings[0]} is about the tasks of --slurm: add --slurm")
    return Spread(found.local, asked if found.slurm else None, found.group, rest)


def minutes(text: str) -> int:
    """A time as SLURM writes it, rounded up: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:...]."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    parts = [] if found is None else [int(part) for part in found.groups()[1:] if part is not None]
    if found is None:
        seconds = 0
    elif found[1] is not None:
        seconds = int(found[1]) * 86400 + sum(part * unit for part, unit in zip(parts, (3600, 60, 1)))
    else:
        units = {1: (60,), 2: (60, 1), 3: (3600, 60, 1)}[len(parts)]
        seconds = sum(part * unit for part, unit in zip(parts, units))
    if not seconds:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: write minutes, or days-hours:minutes:seconds")
    return -(-seconds // 60)


def runner(
    config: Ablation, config_file: str, directory: Path, spread: Spread, reporter: Reporter, stop: Callable[..., Any]
) -> Callable[..., Any]:
    """A function that runs the ablation as ``spread`` says: `run_cells`, or `ablate_in_tasks` with its arguments.

    RefusedError if this machine or the cluster cannot.
    """
    if spread.local is None and spread.slurm is None:
        from posenc_jax.runs.ablation import run_cells

        return run_cells
    from posenc_jax.runs.spread import ablate_in_tasks
    from posenc_jax.training.layout import Devices

    def commands(names: Sequence[str]) -> dict[str, Sequence[str]]:
        own = ["ablate", config_file, *spread.overrides, "--group"]  # what was asked for, in this folder too
        return {name: [*own, name] for name in names}

    if spread.slurm is not None:
        from posenc_jax.runs.cluster import Allocation, check_cluster, run_on_slurm

        check_cluster()
        allocation = Allocation(**spread.slurm)
        gpus = allocation.gpus
        devices = Devices(allocation.cpus or 1, "cpu") if gpus is None else Devices(gpus, "gpu")
        return functools.partial(
            ablate_in_tasks,
            launch=lambda names, ended: run_on_slurm(
                commands(names), allocation, directory, ended, stop, reporter.note
            ),
            devices=devices,
        )
    from posenc_jax.runs.local import run_here, shares

    assert spread.local is not None
    parts = shares(spread.local, Devices(**_asked()))
    return functools.partial(
        ablate_in_tasks,
        launch=lambda names, ended: run_here(commands(names), parts.variables, directory / "logs", ended, stop),
        devices=parts.devices,
    )


def run_group(config: Ablation, directory: Path, name: str, **more: Any) -> None:
    """`run_task`, which ends with one line of what went wrong, whatever it is: that line is told to whoever waits."""
    from posenc_jax.runs.errors import CheckpointError, FailedCellsError, RefusedError, SaveError, StoppedError
    from posenc_jax.runs.spread import run_task

    try:
        with exits_as_errors():
            run_task(config, directory, name, **more)
    except (RefusedError, CheckpointError, SaveError, StoppedError, DataError, OSError):
        raise
    except Exception as error:
        traceback.print_exc()
        raise FailedCellsError(f"{type(error).__name__}: {error}") from None


# Asked of another process: JAX keeps the memory of the accelerators that it has looked for.
_ASK = """
import dataclasses, json
from posenc_jax.cli.session import prepare_jax
prepare_jax()
from posenc_jax.runs.machine import devices_with_memory
print(json.dumps(dataclasses.asdict(devices_with_memory())))
"""


def _asked() -> dict[str, Any]:
    found = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True)
    if found.returncode:
        said = found.stderr.strip() or "it said nothing"
        raise UsageError(f"--local: JAX finds no devices here ({said.splitlines()[-1]}): mend that first")
    return json.loads(found.stdout.splitlines()[-1])
