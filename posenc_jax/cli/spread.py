"""Distribution of the groups of ``posenc ablate``: one after the other here, or as tasks here or on a cluster."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import multiprocessing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from posenc_jax.cli.errors import UsageError, whole

if TYPE_CHECKING:
    from posenc_jax.runs.reporter import Reporter
    from posenc_jax.training.layout import Devices

_Count = Annotated[int | None, whole(1, 2**16), "N"]
_RESOURCES = {"partition": "partition", "gpus": "gpus_per_node", "cpus": "cpus_per_task", "time": "time"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread:
    """Many processes or machines.

    Attributes:
      executor: run each group of a cell in a process of its own, on this machine or as tasks of one SLURM array,
        through submitit
      parallel: run at most N at once (default: 2 here, each with its share of the cores or GPUs; 256 on SLURM)
      partition: partition of each task on SLURM
      gpus: GPUs of each task on SLURM
      cpus: cores of each task on SLURM
      time: minutes of each task on SLURM (default: 60); at the limit the task saves its state, is requeued, and resumes
    """

    executor: Literal["local", "slurm"] | None = None
    parallel: _Count = None
    partition: Annotated[str | None, "NAME"] = None
    gpus: _Count = None
    cpus: _Count = None
    time: Annotated[int | None, whole(1, 2**16), "MINUTES"] = None

    @property
    def resources(self) -> dict[str, Any]:
        """The resources of each task by submitit's names."""
        return {own: value for name, own in _RESOURCES.items() if (value := getattr(self, name)) is not None}

    def check(self) -> None:
        """UsageError for options that need another executor."""
        if self.resources and self.executor != "slurm":
            raise UsageError(f"--{', --'.join(_RESOURCES)} needs --executor slurm")
        if self.parallel and self.executor is None:
            raise UsageError("--parallel needs --executor local or slurm")


def runner(
    spread: Spread, words: Sequence[str], directory: Path, reporter: Reporter, stop: Callable[..., Any]
) -> Callable[..., Any]:
    """A function that runs an ablation as ``spread`` says: `ablate`, or `ablate_in_tasks` with its arguments. Its
    tasks are the command line ``words`` again, with a group each.

    RefusedError if this machine or the cluster cannot.
    """
    if spread.executor is None:
        from posenc_jax.runs.ablation import ablate

        return ablate
    from posenc_jax.runs.executors import check_slurm, run_here, run_on_slurm
    from posenc_jax.runs.spread import ablate_in_tasks, shares
    from posenc_jax.training.layout import Devices

    def launch(names: Sequence[str], ended: Callable[[str], None]) -> dict[str, str]:
        commands = {name: [*words, "--group", name] for name in names}
        if spread.executor == "local":
            return run_here(commands, parts, directory, ended, stop)
        resources = {"time": 60, "array_parallelism": spread.parallel or 256, **spread.resources}
        return run_on_slurm(commands, resources, directory, ended, stop, reporter.note)

    if spread.executor == "local":
        devices, parts = shares(spread.parallel or 2, _devices_here())
    else:
        check_slurm()
        devices = Devices(spread.cpus or 1, "cpu") if spread.gpus is None else Devices(spread.gpus, "gpu")
    return functools.partial(ablate_in_tasks, launch=launch, devices=devices)


def _devices_here() -> Devices:
    """Asked of another process: JAX keeps the memory of the accelerators that it has looked for."""
    from posenc_jax.cli.session import prepare_jax
    from posenc_jax.runs.targets import devices_with_memory

    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn, initializer=prepare_jax) as pool:
        return pool.submit(devices_with_memory).result()
