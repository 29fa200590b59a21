"""A real SLURM of this one machine, in a temporary folder: controller, one node, one partition."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

CONF = """ClusterName=local
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
_MUNGE_KEY, _MUNGE_SOCKET = Path("/etc/munge/munge.key"), Path("/run/munge/munge.socket.2")


def lacking() -> str:
    """Why there can be none here, or ""."""
    missing = [name for name in ("slurmctld", "slurmd", "sbatch", "munged") if shutil.which(name) is None]
    if missing:
        return f"there is no {missing[0]} here: install Debian's slurm-wlm and munge"
    return "" if os.geteuid() == 0 else "only root can start a SLURM of its own"


class Slurm:
    """A controller; its node comes when `start_node` is called. Use as a context manager."""

    def __init__(self, folder: Path, cpus: int = 2) -> None:
        self.folder = folder
        for name in ("state", "spool"):
            (folder / name).mkdir(parents=True)
        controller, node = _free_ports(2)
        self.conf = folder / "slurm.conf"
        settings = {"host": socket.gethostname().partition(".")[0], "controller": controller, "node": node}
        self.conf.write_text(CONF.format(**settings, folder=folder, cpus=cpus))
        self.environment = os.environ | {"SLURM_CONF": str(self.conf)}

    def __enter__(self) -> Slurm:
        _start_munge()
        subprocess.run(["slurmctld"], env=self.environment, check=True)
        return self

    def __exit__(self, *error: object) -> None:
        self.ask("scancel", f"--user={os.geteuid()}")
        end = time.monotonic() + 30
        while self.tasks("RUNNING,COMPLETING") and time.monotonic() < end:
            time.sleep(0.2)
        for name in ("slurmd", "slurmctld"):
            with contextlib.suppress(OSError, ValueError):
                os.kill(int((self.folder / f"{name}.pid").read_text()), signal.SIGTERM)

    def start_node(self) -> None:
        """It takes tasks when it has reported itself."""
        subprocess.run(["slurmd"], env=self.environment, check=True)

    def ask(self, *words: str) -> str:
        """What one of SLURM's commands says."""
        return subprocess.run(words, env=self.environment, capture_output=True, text=True).stdout

    def tell(self, *words: str) -> None:
        """Says one of SLURM's commands once: `scancel` would repeat a signal for 100 s where its task is requeued."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(words, env=self.environment, capture_output=True, timeout=4)

    def tasks(self, state: str) -> list[str]:
        """The tasks of arrays in a state, as ``12_3``."""
        return self.ask("squeue", "--array", "--noheader", f"--states={state}", "--format=%i").split()


def _start_munge() -> None:
    if _MUNGE_SOCKET.exists() and subprocess.run(["munge", "-n"], capture_output=True).returncode == 0:
        return
    if not _MUNGE_KEY.exists():
        _MUNGE_KEY.write_bytes(os.urandom(1024))
    _MUNGE_SOCKET.parent.mkdir(exist_ok=True)
    for path in (_MUNGE_KEY, _MUNGE_SOCKET.parent):
        shutil.chown(path, "munge")
    _MUNGE_KEY.chmod(0o400)
    subprocess.run(["runuser", "-u", "munge", "--", "munged"], check=True)
    end = time.monotonic() + 10
    while not _MUNGE_SOCKET.exists() and time.monotonic() < end:
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
