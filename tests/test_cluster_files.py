"""scripts/cluster: an image, a SLURM job, a JobSet and a SkyPilot task; read here, and run where the tool is there."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
CLUSTER = ROOT / "scripts" / "cluster"
GRACE = 120


def pins(file):
    return dict(line.split("==") for line in file.read_text().splitlines() if "==" in line and line[0] != "#")


def stages():
    """Stage -> its lines, continued lines joined."""
    found = {}
    for line in (CLUSTER / "Dockerfile").read_text().replace("\\\n", "").splitlines():
        if line.startswith("FROM "):
            found[line.split()[-1]] = [line]
        elif line and not line.startswith("#"):
            found[[*found][-1]].append(line)
    return found


def test_the_image_is_locked_not_root_and_stops_by_a_signal():
    found = stages()
    assert list(found) == ["cpu", "tpu", "cuda"]
    assert [lines[0].split()[1] for lines in found.values()] == ["python:3.12-slim-bookworm", "cpu", "cpu"]
    assert [lines[-1] for lines in found.values()][1:] == ["USER 1000"] * 2
    assert {"USER 1000", "STOPSIGNAL SIGTERM", 'ENTRYPOINT ["posenc"]'} <= set(found["cpu"])
    (constraints,) = re.findall(r'PIP_CONSTRAINT="(.*?)"', "\n".join(found["cpu"]))
    assert {Path(name).name for name in constraints.split()} == {"requirements-3.12.lock", "accelerators.lock"}
    jax = pins(ROOT / "requirements-3.12.lock")["jax"]
    installed = [line for lines in found.values() for line in lines if line.startswith("RUN pip install")]
    assert installed[1:] == [f'RUN pip install "jax[tpu]=={jax}"', f'RUN pip install "jax[cuda13]=={jax}"']


def test_what_the_image_copies_is_there_and_sent_to_the_builder():
    sent = [line[1:] for line in (CLUSTER / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"]
    copied = [word for line in stages()["cpu"] if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert sorted(copied) == sorted(sent)
    assert all((ROOT / name).exists() for name in copied)


def test_the_locks_of_the_image_fit_together():
    plain, own = pins(ROOT / "requirements-3.12.lock"), pins(CLUSTER / "accelerators.lock")
    assert not plain.keys() & own.keys()
    assert own["jax-cuda13-plugin"] == own["jax-cuda13-pjrt"] == plain["jax"]


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """A folder of stand-ins for commands; each writes its arguments to ``called``."""

    def command(name, code=""):
        (tmp_path / name).write_text(f'#!/bin/sh\nprintf "%s\\n" "{name} $*" >> {tmp_path}/called\n{code}\n')
        (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    command("srun", 'exec "$@"')
    command("scontrol")
    return command


@pytest.mark.parametrize(("code", "requeued"), [(143, True), (0, False), (2, False)])
def test_a_job_that_was_asked_to_end_is_queued_again(code, requeued, commands, tmp_path):
    commands("posenc", f"exit {code}")
    words = ["ablate", "my config.py", "--directory", "runs"]
    assert subprocess.run([CLUSTER / "slurm.sh", *words]).returncode == code
    called = (tmp_path / "called").read_text().splitlines()
    asked = " ".join(words)
    assert called == [f"srun posenc {asked}", f"posenc {asked}", *["scontrol requeue 7"] * requeued]


def test_a_job_has_time_to_save_in():
    options = re.findall(r"^#SBATCH --(\S+?)(?:=(\S+))?$", (CLUSTER / "slurm.sh").read_text(), re.MULTILINE)
    assert {("signal", f"TERM@{GRACE}"), ("requeue", ""), ("open-mode", "append")} <= set(options)


def jobset(file):
    """What a manifest says, without its empty lines, of which XPK leaves many."""
    lines = (line.rstrip() for line in file.read_text().splitlines())
    return yaml.safe_load("\n".join(line for line in lines if line))


def words_of_xpk(commands, tmp_path, *more):
    commands("xpk")
    subprocess.run([CLUSTER / "xpk.sh", "REGISTRY/posenc:tpu", "runs", *more], check=True)
    return (tmp_path / "called").read_text().strip()


def test_the_jobset_is_that_of_the_script(commands, tmp_path):
    said = words_of_xpk(commands, tmp_path, "--dry-run")
    job = jobset(CLUSTER / "jobset.yaml")
    assert (job["apiVersion"], job["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet")
    (replicated,) = job["spec"]["replicatedJobs"]
    spec = replicated["template"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    command = said.partition("--command ")[2].removesuffix(" --dry-run")
    assert f"({command}) & PID=$!" in container["command"][-1]
    assert "kill -SIGTERM $!" in container["command"][-1]
    assert f"--docker-image {container['image']} " in said
    assert f"--max-restarts {job['spec']['failurePolicy']['maxRestarts']} " in said
    assert f"--termination-grace-period-seconds {pod['terminationGracePeriodSeconds']} " in said
    assert pod["terminationGracePeriodSeconds"] == GRACE
    (rule,) = spec["podFailurePolicy"]["rules"]
    assert 128 + signal.SIGTERM in rule["onExitCodes"]["values"]  # which are those that it is started again for
    assert rule["onExitCodes"]["operator"] == "NotIn"
    assert spec["parallelism"] == 1  # posenc ablate is of one process


def test_the_task_of_skypilot():
    task = yaml.safe_load((CLUSTER / "skypilot.yaml").read_text())
    assert list(task) == ["name", "workdir", "resources", "volumes", "setup", "run"]
    assert task["resources"] == {"accelerators": "H100:1", "use_spot": True}
    (place,) = task["volumes"]
    assert f"--directory {place}/" in task["run"]
    assert task["run"].startswith("exec ")  # so that the signal reaches it
    for lock in ("requirements-3.12.lock", "scripts/cluster/accelerators.lock"):
        assert lock in task["setup"]
        assert (ROOT / lock).exists()


@pytest.mark.parametrize("file", ["slurm.sh", "xpk.sh", "skypilot.yaml", "Dockerfile"])
def test_the_commands_in_them_are_commands_of_posenc(file):
    """The configs that they name are there and of the kind that the command needs."""
    from posenc_jax import Ablation
    from posenc_jax.cli.session import load_config

    found = re.findall(r"(?:posenc(?::cuda)?|slurm\.sh) ablate (configs/\w+\.py)", (CLUSTER / file).read_text())
    assert found
    for config in found:
        assert load_config(str(ROOT / config), Ablation, "ablate").runs
