"""An ablation on a real SLURM of one machine: disturbed in every way, its tables are those of an undisturbed one."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import processes
import pytest
from one_machine_slurm import Slurm, lacking

from posenc_jax.files.checksums import read_lines

sys.path.insert(0, str(processes.ROOT / "scripts"))
from faults import outcome

pytestmark = pytest.mark.slow

# CELLS is their number, STEPS those of each. A file BROKEN breaks one of them, in the processes of SLURM. The others
# have the same program, which is compiled once.
CONFIG = """
import dataclasses
import os
from pathlib import Path
from posenc_jax import Ablation, Evaluation, Run, Training, Transformer
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import PositionalEncoding, RoPE

@dataclasses.dataclass(frozen=True)
class Breaking(PositionalEncoding):
    name, paper, citation = "breaking", "", ""

    def embed(self, params, x, sequence):
        if Path(BROKEN).exists() and "SLURM_JOB_ID" in os.environ:
            raise ValueError("this cell is broken")
        return x

def cell(posenc, label, seeds, rate=1e-2):
    return Run(
        task=Copying(kind="cmc", max_length=3, num_symbols=4),
        model=Transformer(d_model=8, num_layers=1, num_heads=1, dropout=0.1),
        posenc=(posenc,),
        training=Training(
            steps=STEPS, batch_size=4, steps_per_call=4, log_every=4,
            checkpoint_every=40, validate_every=STEPS // 2, validation_batches=2,
        ),
        evaluation=Evaluation(lengths=(2, 3), num_examples=8, draws=2),
        seeds=seeds, learning_rates=(rate,), label=label,
    )

cells = [cell(RoPE(), f"rope {n}", (0,), rate=1e-2 + 1e-4 * n) for n in range(CELLS - 1)]
config = Ablation(name="tiny", runs=(cell(Breaking(), "breaking", (0, 1)), *cells))
"""


def config(cells: int, steps: int, broken: Path) -> str:
    """The file."""
    return CONFIG.replace("CELLS", str(cells)).replace("STEPS", str(steps)).replace("BROKEN", repr(str(broken)))


def available() -> Path:
    """The folder of submitit; a skip in words where it, or SLURM, is missing."""
    if reason := lacking():
        pytest.skip(reason)
    found = importlib.util.find_spec("submitit")
    if found is None or found.origin is None:
        pytest.skip("there is no submitit here: install posenc-jax[cluster]")
    return Path(found.origin)


def results(directory: Path) -> dict[str, object]:
    """Every row, result and checksum of a final state, and the tables."""
    return outcome(directory) | {path.name: path.read_bytes() for path in directory.glob("tables.*")}


class Cluster:
    """A SLURM, a config, and the undisturbed outcome of it, which one process made on one core."""

    def __init__(self, folder: Path, slurm: Slurm, cells: int, steps: int) -> None:
        self.folder, self.slurm, self.log = folder, slurm, folder / "log"
        self.broken = folder / "broken"
        self.disturbed: list[str] = []
        self.commands: list[subprocess.Popen] = []
        (folder / "tiny.py").write_text(config(cells, steps, self.broken))
        self.environment = processes.environment() | {"SLURM_CONF": str(slurm.conf)}
        del self.environment["NPROC"]  # each task has the cores that it asks for
        whole = self.start("undisturbed", variables={"NPROC": "1"})
        assert processes.finish(whole, self.log, 1500) == 0, self.log.read_text()[-4000:]
        self.expected = results(folder / "undisturbed")

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        """Leaves no command behind: without SLURM it would wait for it."""
        for process in self.commands:
            process.kill()
            process.wait()

    def start(self, name: str, *more: str, variables: dict[str, str] | None = None) -> subprocess.Popen:
        arguments = ["ablate", "tiny.py", "--directory", str(self.folder / name), *more]
        with self.log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "posenc_jax", *arguments],
                env=self.environment | (variables or {}),
                cwd=self.folder,
                stdout=output,
                stderr=output,
            )
        self.commands.append(process)
        return process

    def spread(self, name: str, *more: str) -> subprocess.Popen:
        return self.start(name, "--executor", "slurm", "--cpus", "1", "--time", "30", *more)

    def check(self, name: str) -> None:
        found = results(self.folder / name)
        assert found.keys() == self.expected.keys()
        for path, content in self.expected.items():
            assert found[path] == content, path

    def wait(self, process: subprocess.Popen, reached, timeout: float = 400) -> None:
        end = time.monotonic() + timeout
        while not reached():
            assert process.poll() is None, self.log.read_text()[-4000:]
            assert time.monotonic() < end, (self.slurm.ask("squeue"), self.log.read_text()[-4000:])
            time.sleep(0.2)

    def names(self) -> dict[str, str]:
        """The group of each task that is in the record, which may be being written."""
        record = self.folder / "disturbed" / "slurm" / "jobs.jsonl"
        rows = [line.row for line in read_lines(record.read_bytes())] if record.exists() else []
        return {row["job"]: row["task"] for row in rows if row is not None}

    def trained(self, task: str) -> bool:
        """Whether a task, as ``12_3``, has rows of its group on disk, and no result."""
        group = self.folder / "disturbed" / self.names().get(task, "not in the record")
        return (group / "metrics.jsonl").exists() and not (group / "result.json").exists()

    def disturb(self, process: subprocess.Popen, *command: str) -> str:
        """Says one of SLURM's commands of a task in the middle of its training, to each once."""
        task = self.chosen(process)
        self.slurm.tell(*command, task)
        return task

    def kill(self, process: subprocess.Popen) -> str:
        """SIGKILL for the process of a task."""
        task = self.chosen(process)
        holder = self.folder / "disturbed" / self.names()[task] / "holder"
        os.kill(int(holder.read_text().split()[0]), signal.SIGKILL)
        return task

    def chosen(self, process: subprocess.Popen) -> str:
        """A task in the middle of its training that was not chosen before."""
        chosen: list[str] = []

        def reached() -> bool:
            running = [task for task in self.slurm.tasks("RUNNING") if task not in self.disturbed]
            chosen[:] = [task for task in running if self.trained(task)]
            return bool(chosen)

        self.wait(process, reached)
        self.disturbed.append(chosen[0])
        return chosen[0]


@pytest.mark.timeout(2400)
def test_a_late_node_a_failing_cell_and_every_kind_of_disturbance(tmp_path):
    available()
    with Slurm(tmp_path / "slurm") as slurm, Cluster(tmp_path, slurm, cells=10, steps=1000) as cluster:
        cluster.broken.touch()
        process = cluster.spread("disturbed")
        cluster.wait(
            process, lambda: len(slurm.tasks("PENDING")) == 11
        )  # two groups of the first cell, one of the rest
        slurm.start_node()
        requeued = cluster.disturb(process, "scontrol", "requeue")
        terminated = cluster.disturb(process, "scancel", "--signal=TERM")
        limited = cluster.disturb(process, "scancel", "--signal=USR2")  # as before a time limit
        killed = cluster.kill(process)
        cancelled = cluster.disturb(process, "scancel")
        assert processes.finish(process, cluster.log, 900) == 1
        said = cluster.log.read_text()
        assert "3 of 10 cells failed (run the same command again" in said, said[-4000:]
        assert "ValueError: this cell is broken" in said
        for task in (killed, cancelled):
            assert f"job {task}: it ended: " in said
        for task in (requeued, terminated, limited):
            assert f"job {task}: " not in said
        cluster.broken.unlink()
        assert processes.finish(cluster.spread("disturbed"), cluster.log, 900) == 0, cluster.log.read_text()[-4000:]
        cluster.check("disturbed")
