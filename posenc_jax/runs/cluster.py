"""Tasks of an ablation as one SLURM array, through submitit.

A task is requeued when it reaches its time limit, when SLURM takes its node away and when it is asked to terminate, and
goes on from its last checkpoint. What is known of a task here is its group's ``result.json`` and whether `squeue` still
has it: SLURM's accounting is not needed.
"""

import dataclasses
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from posenc_jax import extras
from posenc_jax.files.atomic import make_directory, read_regular
from posenc_jax.files.checksums import read_lines
from posenc_jax.runs.commands import last_words, log_of, start
from posenc_jax.runs.errors import RefusedError, StoppedError
from posenc_jax.runs.files import append_rows

_POLL = 2.0
_TRIES = 10
_ABSENT = 3  # times in a row that SLURM does not know a task that has ended
_MOST_IN_AN_ARRAY = 1000  # SLURM's default MaxArraySize is 1001
# By a signal that came early, in time, or (SLURM may send it twice) when all was saved and the process was ending.
_ASKED_TO_END = tuple(code for number in (signal.SIGTERM, signal.SIGINT) for code in (-number, 128 + number))


@dataclasses.dataclass(frozen=True)
class Allocation:
    """Resources of each SLURM task.

    Attributes:
      partition: its name; None: the default one.
      gpus, cpus: of one task; None: what SLURM gives.
      minutes: after which it is saved and requeued.
      parallel: tasks at once at most.
    """

    partition: str | None = None
    gpus: int | None = None
    cpus: int | None = None
    minutes: int = 60
    parallel: int = 256


class ClusterTask:
    """A command line as submitit's callable: a process of its own, which saves when it is asked to terminate."""

    def __init__(self, arguments: Sequence[str], log: Path) -> None:
        self.arguments, self.log = list(arguments), log
        self._process: int | None = None

    def __call__(self) -> int:
        """Waits for it; a task that ended since it was asked to is requeued, unless it was cancelled.

        Raises:
          RuntimeError: it failed, so that SLURM says so too.
        """
        cores = os.environ.get("SLURM_CPUS_PER_TASK")
        own = {"NPROC": cores} if cores and not os.environ.get("NPROC") else {}
        before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # inherited: that signal is submitit's, see `checkpoint`
        process = start(self.arguments, self.log, own)
        self._process = process.pid
        signal.signal(signal.SIGUSR2, before)
        code = process.wait()
        if code in _ASKED_TO_END and "JobState=RUNNING" in _asked("show", "job", "-o"):  # else SLURM has its own reason
            _asked("requeue")
        if code:
            raise RuntimeError(f"exit code {code}: see {self.log}")
        return code

    def checkpoint(self) -> Any:
        """The task to requeue before the time limit, once it has saved; submitit calls this."""
        import submitit

        if self._process is not None:
            os.kill(self._process, signal.SIGTERM)
            os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOWAIT)  # `__call__` is waiting for it too
        return submitit.helpers.DelayedSubmission(ClusterTask(self.arguments, self.log))


def check_cluster() -> None:
    """MissingExtraError where submitit is missing, RefusedError where SLURM is."""
    extras.check("cluster", "submitit", "--slurm")
    if missing := [name for name in ("sbatch", "srun", "squeue", "scontrol") if shutil.which(name) is None]:
        raise RefusedError(
            f"--slurm needs SLURM, and there is no {missing[0]} here: run on a login node of the cluster, or say "
            "--local N to use N processes of this machine"
        )


def run_on_slurm(
    commands: dict[str, Sequence[str]],
    allocation: Allocation,
    directory: Path,
    ended: Callable[[str], None],
    stop: Callable[[], int | None],
    note: Callable[[str], None],
) -> dict[str, str]:
    """Submits commands as arrays and waits for them; tasks that an earlier call submitted and that are still there are
    waited for, not submitted again.

    Args:
      commands: the arguments for `python -m posenc_jax` of each task.
      directory: the ablation's.
      ended, note: hear of each task that has ended, and of jobs.
      stop: a signal number ends the waiting, not the tasks.

    Returns:
      For each task without a result, why.

    Raises:
      RefusedError: SLURM does not answer, or does not take the job.
      StoppedError: ``stop`` asked for it.
    """
    logs, record = directory / "logs", directory / "slurm" / "jobs.jsonl"
    make_directory(record.parent)
    there = _jobs_there()
    if there is None:  # tasks that it may have would be submitted once more
        raise RefusedError("SLURM does not answer: run the same command again when `squeue --me` does")
    jobs = {name: job for name, job in _recorded(record).items() if name in commands and job in there}
    if jobs:
        note(f"{len(jobs)} tasks are in SLURM already")
    rest = [name for name in commands if name not in jobs]
    for first in range(0, len(rest), _MOST_IN_AN_ARRAY):
        names = rest[first : first + _MOST_IN_AN_ARRAY]
        tasks = [ClusterTask(commands[name], log_of(logs, name)) for name in names]
        new = dict(zip(names, _submitted(tasks, allocation, record.parent), strict=True))
        append_rows(record, ({"task": name, "job": job} for name, job in new.items()))
        jobs |= new
    note(f"waiting for {len(jobs)} tasks in SLURM (jobs: {_listed(jobs)})")
    failed: dict[str, str] = {}
    absent: dict[str, int] = {}
    answers = True
    while jobs:
        alive = _jobs_there()  # asked before results are looked for: a task that is gone has written its own
        if answers and alive is None:
            note("SLURM does not answer (`squeue` fails): asking until it does")
        answers = alive is not None
        for name, job in list(jobs.items()):
            done = (directory / name / "result.json").exists()
            absent[job] = absent.get(job, 0) + 1 if alive is not None and job not in alive else 0
            if done or absent[job] == _ABSENT:
                del jobs[name]
                ended(name)
                if not done:
                    failed[name] = f"job {job}: {last_words(log_of(logs, name))}"
        if (number := stop()) is not None:
            raise StoppedError(number, f"stopped waiting; the tasks go on (`scancel` ends them; jobs: {_listed(jobs)})")
        if jobs:
            time.sleep(_POLL)
    return failed


def _submitted(tasks: list[ClusterTask], allocation: Allocation, folder: Path) -> list[str]:
    import submitit

    executor = submitit.SlurmExecutor(folder=folder, max_num_timeout=10**6)
    asked = {
        "partition": allocation.partition,
        "gpus_per_node": allocation.gpus,
        "cpus_per_task": allocation.cpus,
        "time": allocation.minutes,
        "array_parallelism": allocation.parallel,
    }
    executor.update_parameters(
        job_name="posenc",
        additional_parameters={"requeue": True},
        **{name: value for name, value in asked.items() if value is not None},
    )
    try:
        return [job.job_id for job in executor.submit_array(tasks)]
    except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
        lines = [line.strip() for line in str(error).splitlines() if "error" in line]
        raise RefusedError(f"SLURM does not take the job: {lines[-1] if lines else error}") from None


def _recorded(record: Path) -> dict[str, str]:
    """The last job of each task; what cannot be read is as if it were not there, and its task is submitted again."""
    lines = read_lines(read_regular(record)) if record.exists() else []
    return {str(line.row["task"]): str(line.row["job"]) for line in lines if line.row is not None}


def _jobs_there() -> set[str] | None:
    """The jobs and tasks of arrays of this user that have not ended; None where SLURM does not answer."""
    found = subprocess.run(["squeue", "--me", "--array", "--noheader", "--format=%i"], capture_output=True, text=True)
    return None if found.returncode else set(found.stdout.split())


def _listed(jobs: dict[str, str]) -> str:
    return ", ".join(sorted({job.partition("_")[0] for job in jobs.values()})) or "none"


def _asked(*words: str) -> str:
    """Output of `scontrol` for the job of this process; a busy controller is asked again."""
    for _ in range(_TRIES):
        found = subprocess.run(["scontrol", *words, os.environ["SLURM_JOB_ID"]], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout
        time.sleep(_POLL)
    return ""
