"""A killed or stopped ablation, started again, ends with the same bits. Real processes, real signals."""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import processes
import pytest
from trained_runs import CONFIG as SHARED
from trained_runs import copy_of_the_run

from posenc_jax.runs.cell import run

sys.path.insert(0, str(processes.ROOT / "scripts"))
from faults import CONFIG, outcome


class Scene:
    """An ablation that ran undisturbed, and the places of others of the same config."""

    def __init__(self, directory: Path, posenc: tuple[str, ...]) -> None:
        self.directory = directory
        self.config = directory / "tiny.py"
        self.config.write_text(CONFIG.replace("POSENC", repr(posenc)))
        self.log = directory / "log"
        assert processes.finish(self.start("undisturbed"), self.log) == 0, self.log.read_text()
        self.expected = outcome(directory / "undisturbed")

    def start(self, name: str, cache: Path | None = None):
        arguments = ["ablate", str(self.config), "--directory", str(self.directory / name)]
        return processes.start(arguments, self.log, cache)

    def kill(self, name: str, reached, number: int = signal.SIGKILL, cache: Path | None = None) -> tuple[bool, int]:
        """Whether the signal came in time, and the exit code."""
        process = self.start(name, cache)
        sent = processes.signal_when(process, reached, number)
        return sent, processes.finish(process, self.log)

    def check(self, name: str) -> None:
        """Runs to the end and compares."""
        assert processes.finish(self.start(name), self.log) == 0, self.log.read_text()
        found = outcome(self.directory / name)
        assert found.keys() == self.expected.keys()
        for path, content in self.expected.items():
            assert found[path] == content, path
        assert not list((self.directory / name).glob("**/*unfinished*")), "something unfinished is left"


def exists(directory: Path, pattern: str):
    return lambda: any(directory.glob(pattern))


def rows(directory: Path, pattern: str, count: int):
    return lambda: any(path.read_bytes().count(b"\n") >= count for path in directory.glob(pattern))


@pytest.fixture(scope="module")
def scene(tmp_path_factory) -> Scene:
    return Scene(tmp_path_factory.mktemp("kill"), ("randomized(max_position=32)|learned",))


# Goes on with the run in DIRECTORY, in a process as these tests have theirs.
GO_ON = """
from trained_runs import CONFIG
from posenc_jax.runs.cell import run
run(CONFIG, DIRECTORY)
"""


def test_sigkill_in_a_save_changes_nothing(tmp_path):
    """The run that several files share, taken back to the middle of its training."""
    whole, place = copy_of_the_run(tmp_path / "whole"), copy_of_the_run(tmp_path / "killed")
    (group,) = place.glob("group-*")
    group.joinpath("result.json").unlink()
    shutil.rmtree(group / "checkpoints" / "20")
    process = processes.python_in_the_background(GO_ON.replace("DIRECTORY", repr(str(place))), tmp_path / "log")
    reached = exists(group, "checkpoints/*orbax-checkpoint-tmp*/*")
    assert processes.signal_when(process, reached), (tmp_path / "log").read_text()
    assert processes.finish(process, tmp_path / "log") == -signal.SIGKILL
    assert not group.joinpath("checkpoints", "20").exists()
    run(SHARED, place)
    expected, found = outcome(whole), outcome(place)
    assert {Path(path).name for path in expected} == {"metrics.jsonl", "result.json", "20"}
    assert found == expected
    assert not list(place.glob("**/*unfinished*")), "something unfinished is left"


@pytest.mark.slow
def test_the_undisturbed_run_wrote_what_is_compared(scene):
    kinds = {Path(path).name for path in scene.expected}
    assert kinds == {"metrics.jsonl", "result.json", "results.jsonl", "80"}
    assert len(scene.expected) == 7  # two groups of metrics, result and state


# The file that is there as soon as a kill falls into the compile (of an empty cache), into the writing of a
# checkpoint, and so on.
POINTS = {
    "compile": "*/group-000/environment.json",
    "checkpoint": "*/group-000/checkpoints/*orbax-checkpoint-tmp*/*",
    "measuring": "*/group-000/checkpoints/80",
    "next group": "*/group-001/checkpoints/24",
    "results": "*/group-001/result.json*",
}


def killed(scene, name, point):
    """Whether SIGKILL fell where it should, and the exit code."""
    cache = scene.directory / "empty" if point == "compile" else None
    return scene.kill(name, exists(scene.directory / name, POINTS[point]), cache=cache)


@pytest.mark.slow
def test_sigterm_and_sigint_save_and_say_how_to_go_on(scene):
    """One after the other: asked to stop while training, killed in a save, interrupted."""
    name, place = "stopped", scene.directory / "stopped"
    assert scene.kill(name, rows(place, "*/group-000/metrics.jsonl", 6), signal.SIGTERM) == (True, 143)
    (group,) = place.glob("*/group-000")
    last_row = group.joinpath("metrics.jsonl").read_text().splitlines()[-1]
    newest = max(int(p.name) for p in group.joinpath("checkpoints").iterdir())
    assert f'"step": {newest},' in last_row, "the step that was trained last is not the one that was saved"
    assert newest < 80
    assert f"stopped at step {newest} of 80" in scene.log.read_text()
    assert "Run the same command again" in scene.log.read_text()
    assert killed(scene, name, "checkpoint") == (True, -signal.SIGKILL)
    assert scene.kill(name, rows(place, "*/group-001/metrics.jsonl", 4), signal.SIGINT) == (True, 130)
    scene.check(name)


@pytest.mark.slow
def test_sigkill_changes_nothing(scene):
    landed = {point: killed(scene, "killed", point) for point in POINTS}
    assert landed == dict.fromkeys(POINTS, (True, -signal.SIGKILL))
    scene.check("killed")
