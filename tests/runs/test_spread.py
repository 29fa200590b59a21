"""Groups of an ablation as tasks: the same bytes as one after the other, nothing lost or done twice."""

from __future__ import annotations

import dataclasses
import functools
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import processes
import pytest
from trained_runs import CONFIG, Notes, contents, copy_of_the_run

from posenc_jax.config import Ablation
from posenc_jax.files.atomic import held
from posenc_jax.runs import executors, spread
from posenc_jax.runs.errors import FailedCellsError, RefusedError, StoppedError
from posenc_jax.runs.reporter import Reporter
from posenc_jax.runs.spread import ablate_in_tasks, run_task, shares
from posenc_jax.training.layout import Devices

sys.path.insert(0, str(processes.ROOT / "scripts"))
from faults import outcome

ABLATION = Ablation("tiny", (CONFIG,))
HERE = Devices(2, "cpu")
NAME = f"{CONFIG.directory_name}/group-000"


def not_measured(place: Path) -> Path:
    """An ablation whose one group is trained, and lacks its result."""
    copy_of_the_run(place / CONFIG.directory_name)
    (place / NAME / "result.json").unlink()
    return place


def never(names, ended):
    raise AssertionError(f"{names} were launched")


def test_tasks_come_to_what_one_process_does(tmp_path):
    whole = copy_of_the_run(tmp_path / "whole" / CONFIG.directory_name).parent
    ablate_in_tasks(ABLATION, whole, never, HERE, reporter=Reporter())  # writes the record
    place, given, heard = not_measured(tmp_path / "tasks"), [], []

    def launch(names, ended):
        given.extend(names)
        for name in names:
            run_task(ABLATION, place, name, reporter=Reporter())
            ended(name)
        return {}

    class Hears(Reporter):
        def advance(self, amount, text=""):
            heard.append((amount, text))

    result = ablate_in_tasks(ABLATION, place, launch, HERE, reporter=Hears())
    assert given == [NAME]
    assert heard == [(1, NAME)]
    assert result.directory == place
    assert outcome(place) == outcome(whole)
    before, notes = contents(place), Notes()
    ablate_in_tasks(ABLATION, place, never, HERE, reporter=notes)
    run_task(ABLATION, place, NAME, reporter=notes)
    assert notes.notes == [
        f"{place} is already complete: nothing to do",
        f"{place / NAME} is already complete: nothing to do",
    ]
    assert contents(place) == before


def test_groups_are_laid_out_for_the_devices_of_a_task(tmp_path):
    cell = dataclasses.replace(CONFIG, seeds=(0, 1, 2), execution=dataclasses.replace(CONFIG.execution, mode="devices"))
    config = Ablation("tiny", (cell, dataclasses.replace(cell, label="other")))
    for cores, groups in ((1, 3), (4, 2)):
        given = []
        with pytest.raises(FailedCellsError) as caught:
            ablate_in_tasks(
                config,
                tmp_path / str(cores),
                lambda names, ended, given=given: given.extend(names) or dict.fromkeys(names, "killed"),
                Devices(cores, "cpu"),
                reporter=Reporter(),
            )
        first, second = (run.directory_name for run in config.runs)
        assert given == [f"{name}/group-00{number}" for name in (first, second) for number in range(groups)]
        line = f"{cell.table} {cell.label} ({first}/group-000): killed"
        assert f"2 of 2 cells failed (run the same command again to repeat only them):\n  {line}\n" in str(caught.value)


def test_a_task_that_ends_without_a_result_has_failed(tmp_path):
    """As own code can make it end, by os._exit(0)."""
    place = not_measured(tmp_path / "a")
    with pytest.raises(FailedCellsError, match=r"group-000\): it ended without a result"):
        ablate_in_tasks(ABLATION, place, lambda names, ended: {}, HERE, reporter=Reporter())


def test_a_group_that_another_process_works_on_is_waited_for_and_not_done_twice(tmp_path):
    place, notes = not_measured(tmp_path / "a"), Notes()
    result = copy_of_the_run(tmp_path / "run") / "group-000" / "result.json"
    holding, release = threading.Event(), threading.Event()

    def other_process():
        with held(place / NAME):
            holding.set()
            release.wait(60)
            (place / NAME / "result.json").write_bytes(result.read_bytes())

    thread = threading.Thread(target=other_process)
    thread.start()
    holding.wait()
    notes.note = lambda text: (notes.notes.append(text), release.set())
    run_task(ABLATION, place, NAME, reporter=notes)
    thread.join()
    assert notes.notes == [f"process {os.getpid()} works in {place / NAME}: waiting for it"]
    (place / NAME / "result.json").unlink()
    with held(place / NAME), pytest.raises(StoppedError, match="stopped while another process was working in"):
        run_task(ABLATION, place, NAME, reporter=Reporter(), stop=lambda: signal.SIGTERM)


def python(arguments, log, variables):
    """In place of the command line: a program that says what it is told, and ends so."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-c", *arguments], env=os.environ | variables, stdout=output, stderr=output
        )


def test_processes_share_the_machine_and_say_why_they_failed(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "start", python)
    says = "import os; print(os.environ['PART']); print('posenc: it broke'); raise SystemExit({})"
    commands = {f"cell/group-00{n}": [says.format(n % 2)] for n in range(4)}
    ended = []
    failed = executors.run_here(commands, ({"PART": "a"}, {"PART": "b"}), tmp_path, ended.append, lambda: None)
    assert sorted(ended) == list(commands)
    logs = {name: tmp_path / "logs" / f"{name.replace('/', '-')}.log" for name in commands}
    assert {log.read_text().split()[0] for log in logs.values()} == {"a", "b"}
    assert failed == {name: f"exit code 1: it broke [all in {logs[name]}]" for name in list(commands)[1::2]}


def test_a_signal_ends_all_processes_with_their_state_saved(tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "start", python)
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), sys.exit(143)))\n"
        "print('ready', flush=True); time.sleep(100)"
    )
    commands = {name: [code] for name in ("a", "b", "c")}
    logs = [tmp_path / "logs" / f"{name}.log" for name in ("a", "b")]

    def stop():
        ready = all(log.exists() and "ready" in log.read_text() for log in logs)
        return signal.SIGTERM if ready else None

    with pytest.raises(StoppedError, match="stopped, with 3 groups to go"):
        executors.run_here(commands, ({}, {}), tmp_path, lambda name: None, stop)
    assert [log.read_text() for log in logs] == ["ready\nsaved\n"] * 2
    assert not (tmp_path / "logs" / "c.log").exists()


def test_shares_of_a_machine(monkeypatch):
    monkeypatch.setattr(spread, "threads", lambda: 8)
    monkeypatch.delenv("NPROC", raising=False)
    whole = Devices(8, "cpu", 1600)
    assert shares(3, whole) == (Devices(2, "cpu", 533), [{"NPROC": "2"}] * 3)
    assert shares(9, whole)[0].count == 1
    monkeypatch.setenv("NPROC", "8")
    assert shares(3, whole)[0].count == 8
    gpus = Devices(5, "gpu", 100)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    parts = [{"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": "2,3"}]
    assert shares(2, gpus) == (Devices(2, "gpu", 100), parts)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    assert shares(2, Devices(2, "gpu"))[1][1] == {"CUDA_VISIBLE_DEVICES": "GPU-b"}
    with pytest.raises(RefusedError, match="--parallel 6: each process needs a GPU of its own, and there are 5 GPUs"):
        shares(6, gpus)
    with pytest.raises(RefusedError, match=r"--parallel 2: .* there are 4 TPUs"):
        shares(2, Devices(4, "tpu"))


@pytest.mark.parametrize(
    ("code", "state", "requeued"),
    [
        ("raise SystemExit(143)", "RUNNING", True),
        ("raise SystemExit(143)", "COMPLETING", False),  # cancelled, or requeued by SLURM itself
        ("raise SystemExit(1)", "RUNNING", False),
    ],
)
def test_what_is_requeued(tmp_path, monkeypatch, code, state, requeued):
    """What `scontrol` says is made up here; test_slurm has the real one."""
    monkeypatch.setattr(executors, "start", python)
    (tmp_path / "scontrol").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\necho JobState={state}\n')
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with pytest.raises(RuntimeError, match=r"^exit code -?\d+: see .*log$"):
        executors.ClusterTask([code], tmp_path / "log")()
    asked = (tmp_path / "asked").read_text().splitlines() if (tmp_path / "asked").exists() else []
    assert ("requeue 7" in asked) == requeued, asked


def test_a_slurm_that_does_not_answer_is_asked_again_and_loses_no_task(tmp_path, monkeypatch):
    """What `squeue` says is made up here: None, that it failed."""
    says = [set(), {"0_0"}, None, {"0_0"}, *[set()] * 3, None]
    notes = []
    monkeypatch.setattr(executors, "_jobs_there", lambda: says.pop(0))
    monkeypatch.setattr(executors, "_submitted", lambda *_: ["0_0"])
    monkeypatch.setattr(executors, "_POLL", 0.001)
    call = functools.partial(executors.run_on_slurm, {"a": []}, {}, tmp_path, notes.append, lambda: None, notes.append)
    assert call() == {"a": f"job 0_0: it ended: it said nothing [all in {tmp_path / 'logs' / 'a.log'}]"}
    silent = "SLURM does not answer (`squeue` fails): asking until it does"
    assert notes == ["waiting for 1 tasks in SLURM (jobs: 0)", silent, "a"]
    with pytest.raises(RefusedError, match=r"^SLURM does not answer: run the same command again when `squeue --me`"):
        call()


def test_tasks_that_slurm_has_already_are_not_submitted_again(tmp_path, monkeypatch):
    """What `squeue` and `sbatch` say is made up here; test_slurm has the real ones."""
    there, submitted = set(), []

    def submit(tasks, resources, folder):
        new = [f"{len(submitted)}_{number}" for number in range(len(tasks))]
        submitted.append([task.arguments for task in tasks])
        there.update(new)
        return new

    monkeypatch.setattr(executors, "_jobs_there", lambda: set(there))
    monkeypatch.setattr(executors, "_submitted", submit)
    monkeypatch.setattr(executors, "_POLL", 0.001)
    commands, notes = {name: [name] for name in ("a", "b")}, []

    def call(stop):
        return executors.run_on_slurm(commands, {}, tmp_path, notes.append, stop, notes.append)

    with pytest.raises(StoppedError, match=r"stopped waiting; the tasks go on \(`scancel` ends them; jobs: 0\)"):
        call(lambda: signal.SIGINT)
    there.discard("0_1")  # was killed, and has no result
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "result.json").touch()
    assert call(lambda: there.clear()).keys() == {"b"}
    assert submitted == [[["a"], ["b"]], [["b"]]]
    assert notes[:3] == [
        "waiting for 2 tasks in SLURM (jobs: 0)",
        "1 tasks are in SLURM already",
        "waiting for 2 tasks in SLURM (jobs: 0, 1)",
    ]
