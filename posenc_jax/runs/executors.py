"""Tasks of an ablation as processes of their own: some at once on this machine, or one SLURM array through submitit.

Without JAX: of an array each task has a process that only waits. A task of SLURM is requeued when it reaches its time
limit, when SLURM takes its node away and when it is asked to terminate, and goes on from its last checkpoint. What is
known of a task here is its group's ``result.json`` and whether `squeue` still has it.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from posenc_jax import extras
from posenc_jax.files.atomic import make_directory, read_regular
from posenc_jax.files.checksums import read_lines
from posenc_jax.runs.errors import RefusedError, StoppedError
from posenc_jax.runs.files import append_rows

_POLL_HERE, _POLL = 0.05, 2.0
_ABSENT = 3  # times in a row that SLURM does not know a task that has ended
# By a signal that came early, in time, or (SLURM may send it twice) when all was saved and the process was ending.
_ASKED_TO_END = tuple(code for number in (signal.SIGTERM, signal.SIGINT) for code in (-number, 128 + number))

Commands = Mapping[str, Sequence[str]]
"""Task, called ``CELL/group-000``, -> the arguments for `python -m posenc_jax`."""


def _log_of(directory: Path, name: str) -> Path:
    """The file for the output of a task, in the ablation's directory."""
    return directory / "logs" / f"{name.replace('/', '-')}.log"


def start(arguments: Sequence[str], log: Path, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """A process of the command line, with further variables in its environment; its output is added to a file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "posenc_jax", *arguments],
            env=os.environ | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def _last_words(log: Path, code: int | None = None) -> str:
    """Why a task failed, as the last line of its output says, and where the rest is."""
    end = "it ended" if code is None else f"signal {-code} ended it" if code < 0 else f"exit code {code}"
    lines = log.read_text(errors="replace").split("\n") if log.is_file() else []
    said = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    return f"{end}: {said.removeprefix('posenc: ')} [all in {log}]"


def run_here(
    commands: Commands,
    parts: Sequence[dict[str, str]],
    directory: Path,
    ended: Callable[[str], None],
    stop: Callable[[], int | None],
) -> dict[str, str]:
    """Runs commands on this machine, one at a time for each of the ``parts``, the variables that give them one.

    Returns:
      For each task that failed, why.

    Raises:
      StoppedError: ``stop`` asked for it: all were asked to save their state, and have ended.
    """
    waiting, failed = list(commands), dict[str, str]()
    running: dict[int, tuple[str, subprocess.Popen[bytes]]] = {}
    try:
        while waiting or running:
            for part, variables in enumerate(parts):
                if waiting and part not in running:
                    name = waiting.pop(0)
                    running[part] = name, start(commands[name], _log_of(directory, name), variables)
            time.sleep(_POLL_HERE)
            for part, (name, process) in list(running.items()):
                if process.poll() is not None:
                    del running[part]
                    ended(name)
                    if process.returncode:
                        failed[name] = _last_words(_log_of(directory, name), process.returncode)
            if (number := stop()) is not None:
                raise StoppedError(number, f"stopped, with {len(waiting) + len(running)} groups to go")
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.wait()
    return failed


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
        if code in _ASKED_TO_END and "JobState=RUNNING" in _control("show", "job", "-o"):  # else SLURM has its reason
            _control("requeue")
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


def check_slurm() -> None:
    """MissingExtraError where submitit is missing, RefusedError where SLURM is."""
    extras.check("cluster", "submitit", "--executor slurm")
    if missing := [name for name in ("sbatch", "srun", "squeue", "scontrol") if shutil.which(name) is None]:
        raise RefusedError(
            f"--executor slurm needs SLURM, and there is no {missing[0]} here: run on a login node of the cluster, or "
            "say --executor local"
        )


def run_on_slurm(
    commands: Commands,
    resources: Mapping[str, Any],
    directory: Path,
    ended: Callable[[str], None],
    stop: Callable[[], int | None],
    note: Callable[[str], None],
) -> dict[str, str]:
    """Submits commands as an array and waits for them; tasks that an earlier call submitted and that are still there
    are waited for, not submitted again.

    Args:
      resources: of each task, by submitit's names.
      directory: the ablation's.
      ended, note: hear of each task that has ended, and of jobs.
      stop: a signal number ends the waiting, not the tasks.

    Returns:
      For each task without a result, why.

    Raises:
      RefusedError: SLURM does not answer, or does not take the job.
      StoppedError: ``stop`` asked for it.
    """
    record = directory / "slurm" / "jobs.jsonl"
    make_directory(record.parent)
    there = _jobs_there()
    if there is None:  # tasks that it may have would be submitted once more
        raise RefusedError("SLURM does not answer: run the same command again when `squeue --me` does")
    # What cannot be read is as if it were not there, and its task is submitted again.
    rows = [line.row for line in read_lines(read_regular(record)) if line.row] if record.exists() else []
    jobs = {row["task"]: row["job"] for row in rows if row["task"] in commands}
    jobs = {name: job for name, job in jobs.items() if job in there}
    if jobs:
        note(f"{len(jobs)} tasks are in SLURM already")
    if rest := [name for name in commands if name not in jobs]:
        tasks = [ClusterTask(commands[name], _log_of(directory, name)) for name in rest]
        new = dict(zip(rest, _submitted(tasks, resources, record.parent), strict=True))
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
                    failed[name] = f"job {job}: {_last_words(_log_of(directory, name))}"
        if (number := stop()) is not None:
            raise StoppedError(number, f"stopped waiting; the tasks go on (`scancel` ends them; jobs: {_listed(jobs)})")
        if jobs:
            time.sleep(_POLL)
    return failed


def _submitted(tasks: list[ClusterTask], resources: Mapping[str, Any], folder: Path) -> list[str]:
    import submitit

    executor = submitit.SlurmExecutor(folder=folder, max_num_timeout=10**6)
    executor.update_parameters(job_name="posenc", additional_parameters={"requeue": True}, **resources)
    try:
        return [job.job_id for job in executor.submit_array(tasks)]
    except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
        lines = [line.strip() for line in str(error).splitlines() if "error" in line]
        raise RefusedError(f"SLURM does not take the job: {lines[-1] if lines else error}") from None


def _jobs_there() -> set[str] | None:
    """The jobs and tasks of arrays of this user that have not ended; None where SLURM does not answer."""
    found = subprocess.run(["squeue", "--me", "--array", "--noheader", "--format=%i"], capture_output=True, text=True)
    return None if found.returncode else set(found.stdout.split())


def _listed(jobs: dict[str, str]) -> str:
    return ", ".join(sorted({job.partition("_")[0] for job in jobs.values()})) or "none"


def _control(*words: str) -> str:
    """Output of `scontrol` for the job of this process; a busy controller is asked again."""
    for _ in range(10):
        found = subprocess.run(["scontrol", *words, os.environ["SLURM_JOB_ID"]], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout
        time.sleep(_POLL)
    return ""
