"""Distribution of the groups of ``posenc ablate``: one after the other here, or as tasks here or on a cluster."""

from __future__ import annotations

import dataclasses
import functools
import json
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
  --executor local|slurm   run each group of a cell in a process of its own: on this machine, or as tasks of one SLURM
                       array, through submitit
    --parallel N       run at most N at once (default: 2 here, each with its share of the cores or GPUs; 256 on SLURM)
    --partition NAME, --gpus N, --cpus N   resources of each task on SLURM
    --time MINUTES     time limit of each task on SLURM (default: 60); at the limit the task saves its state, is
                       requeued, and resumes
  --group CELL/group-000   run only this group, made by --executor, which calls this in its processes"""


@dataclasses.dataclass(frozen=True)
class Spread:
    """Options of the command line for the distribution.

    Attributes:
      executor: "local", "slurm" or None.
      parallel: processes or tasks at once.
      resources: of each task on SLURM, by submitit's names.
      group: the only one to run.
      overrides: what else the command line says.
    """

    executor: str | None
    parallel: int | None
    resources: dict[str, Any]
    group: str | None
    overrides: list[str]


_RESOURCES = {"partition": "partition", "gpus": "gpus_per_node", "cpus": "cpus_per_task", "time": "time"}


def read_spread(arguments: list[str]) -> Spread:
    """The options of `HELP` and the other arguments; UsageError for what is wrong with the former."""
    parser = Parser(prog="posenc ablate", add_help=False, allow_abbrev=False)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--executor", choices=("local", "slurm"))
    where.add_argument("--group")
    parser.add_argument("--partition")
    for name in ("--gpus", "--cpus", "--time", "--parallel"):
        parser.add_argument(name, type=whole(1, 2**16))
    parser.add_argument("--local", nargs="?", const="N")
    parser.add_argument("--slurm", action="store_true")
    found, rest = parser.parse_known_args(arguments)
    if found.local or found.slurm:
        now = "slurm" if found.slurm else f"local --parallel {found.local}"
        raise UsageError(f"{'--slurm' if found.slurm else '--local'} is written --executor {now} now")
    asked = {own: getattr(found, name) for name, own in _RESOURCES.items() if getattr(found, name) is not None}
    if asked and found.executor != "slurm":
        raise UsageError(f"--{next(n for n, own in _RESOURCES.items() if own in asked)} needs --executor slurm")
    if found.parallel and found.executor is None:
        raise UsageError("--parallel needs --executor local or slurm")
    return Spread(found.executor, found.parallel, asked, found.group, rest)


def runner(
    config: Ablation, config_file: str, directory: Path, spread: Spread, reporter: Reporter, stop: Callable[..., Any]
) -> Callable[..., Any]:
    """A function that runs the ablation as ``spread`` says: `ablate`, or `ablate_in_tasks` with its arguments.

    RefusedError if this machine or the cluster cannot.
    """
    if spread.executor is None:
        from posenc_jax.runs.ablation import ablate

        return ablate
    from posenc_jax.runs.executors import check_slurm, run_here, run_on_slurm
    from posenc_jax.runs.spread import ablate_in_tasks, shares
    from posenc_jax.training.layout import Devices

    def launch(names: Sequence[str], ended: Callable[[str], None]) -> dict[str, str]:
        own = ["ablate", config_file, *spread.overrides, "--group"]  # what was asked for, in this folder too
        commands = {name: [*own, name] for name in names}
        if spread.executor == "local":
            return run_here(commands, parts, directory, ended, stop)
        resources = {"time": 60, "array_parallelism": spread.parallel or 256, **spread.resources}
        return run_on_slurm(commands, resources, directory, ended, stop, reporter.note)

    if spread.executor == "local":
        devices, parts = shares(spread.parallel or 2, Devices(**_asked()))
    else:
        check_slurm()
        gpus = spread.resources.get("gpus_per_node")
        devices = Devices(spread.resources.get("cpus_per_task", 1), "cpu") if gpus is None else Devices(gpus, "gpu")
    return functools.partial(ablate_in_tasks, launch=launch, devices=devices)


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
from posenc_jax.runs.targets import devices_with_memory
print(json.dumps(dataclasses.asdict(devices_with_memory())))
"""


def _asked() -> dict[str, Any]:
    found = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True)
    if found.returncode:
        said = found.stderr.strip() or "it said nothing"
        raise UsageError(f"--executor local: JAX finds no devices here ({said.splitlines()[-1]}): mend that first")
    return json.loads(found.stdout.splitlines()[-1])
