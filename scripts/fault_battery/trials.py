"""Faults that are caused in the small ablation. A trial takes the scene and how many times, and counts the outcomes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fault_battery.scene import IDENTICAL, OUTCOMES, REFUSED, SILENT, TRACEBACK, Ended, Scene, command, each, finish

Counts = dict[str, int]


def kills(scene: Scene, count: int) -> Counts:
    """SIGKILL at a random moment of the whole run, then the same command again."""
    return _stopped(scene, count, signal.SIGKILL, (-signal.SIGKILL,))


def stops(scene: Scene, count: int) -> Counts:
    """SIGTERM at a random moment, which must end with 143, or by the signal where Python has not begun to listen, then
    the same command again.
    """
    return _stopped(scene, count, signal.SIGTERM, (143, -signal.SIGTERM))


def _stopped(scene: Scene, count: int, number: int, codes: tuple[int, ...]) -> Counts:
    begun = time.monotonic()
    finish(scene.start(_empty(scene, "timed")))
    length = time.monotonic() - begun

    def trial(i: int) -> str:
        place, chance = _empty(scene, "stopped"), random.Random(i)
        process = scene.start(place)
        time.sleep(chance.uniform(0, length))
        process.send_signal(number)
        ended = finish(process)
        if "Traceback" in ended.said:
            return TRACEBACK
        if ended.code not in (0, *codes):
            return SILENT
        return scene.verdict(place, scene.ablate(place))

    return each(count, trial)


def checkpoint_bits(scene: Scene, count: int) -> Counts:
    """One flipped bit in a file of the checkpoint from which training goes on."""

    def trial(i: int) -> str:
        place = scene.unfinished("flipped")
        flip(random.Random(i), sorted(path for path in _newest(place).rglob("*") if _has_bytes(path)))
        return scene.verdict(place, scene.ablate(place))

    return each(count, trial)


def damaged_steps(scene: Scene, count: int) -> Counts:
    """Files of the newest checkpoint that are cut, empty or missing; steps copied, exchanged, or without a file."""
    names = [path.relative_to(_newest(scene.whole)) for path in _newest(scene.whole).rglob("*") if _has_bytes(path)]
    damages: list[Callable[[Path], object]] = []
    for name in sorted(names):
        damages += [lambda step, n=name: _cut(step / n), lambda step, n=name: _cut(step / n, 0)]
        damages += [lambda step, n=name: (step / n).unlink()]
    damages += [_copied_on, _exchanged, _emptied, _stray_folder, _stray_file]

    def trial(i: int) -> str:
        place = scene.unfinished("damaged")
        damages[i](_newest(place))
        return scene.verdict(place, scene.ablate(place))

    return each(min(count, len(damages)), trial)


def number_bits(pattern: str) -> Callable[[Scene, int], Counts]:
    """A flipped bit in a file that numbers come from, then ``posenc report`` and ``posenc ablate``."""

    def run(scene: Scene, count: int) -> Counts:
        def trial(i: int) -> str:
            place = scene.copy("numbers")
            flip(random.Random(i), sorted(place.glob(pattern))[:1])
            return _worst(_reported(scene, place), scene.verdict(place, scene.ablate(place)))

        return each(count, trial)

    return run


def exchanged_files(scene: Scene, count: int) -> Counts:
    """A whole and undamaged file of one group in the place of another's."""
    names = ("result.json", "metrics.jsonl", "environment.json", "config.json", "checkpoints")

    def trial(i: int) -> str:
        place = scene.unfinished("exchanged") if names[i] == "checkpoints" else scene.copy("exchanged")
        first, second = sorted(place.glob("*/group-*"))
        if (first / names[i]).is_dir():
            shutil.rmtree(first / names[i])
            shutil.copytree(second / names[i], first / names[i])
        else:
            shutil.copy(second / names[i], first / names[i])
        return scene.verdict(place, scene.ablate(place))

    return each(min(count, len(names)), trial)


def races(scene: Scene, count: int) -> Counts:
    """Two processes of one directory at once: one does the work, the other is refused or finds it done."""

    def trial(i: int) -> str:
        place = _empty(scene, "race")
        both = [scene.start(place), scene.start(place)]
        ended = [finish(process) for process in both]
        if any("Traceback" in one.said for one in ended):
            return TRACEBACK
        if not any(one.code == 0 for one in ended) or not all(one.code in (0, 2) for one in ended):
            return SILENT
        return scene.verdict(place, Ended(0, ""))

    return each(count, trial)


def full_disks(scene: Scene, count: int) -> Counts:
    """A disk with too little room (a tmpfs, which only root can mount), then one with enough."""
    needed = sum(path.stat().st_size for path in scene.whole.rglob("*") if path.is_file())

    def trial(i: int) -> str:
        with disk_of(scene, int(needed * (i + 1) / (count + 1))) as disk:
            place = disk / "run"
            full = scene.ablate(place)
            if "Traceback" in full.said:
                return TRACEBACK
            _mount(disk, 4 * needed + 2**24, again=True)
            again = scene.verdict(place, scene.ablate(place))
            return again if full.code or again != IDENTICAL else SILENT

    return each(count, trial)


@contextlib.contextmanager
def disk_of(scene: Scene, size: int) -> Iterator[Path]:
    """A disk of so many bytes, which only root can mount: PermissionError."""
    disk = scene.folder / "disk"
    disk.mkdir(exist_ok=True)
    _mount(disk, size)
    try:
        yield disk
    finally:
        os.sync()
        _libc("umount", str(disk).encode())


def links_out(scene: Scene, count: int) -> Counts:
    """A link in the directory to a file or folder outside, which must stay as it is."""
    kinds = ["lock", "*/lock", "*/group-000/timing.jsonl", "*/group-000/metrics.jsonl", "*/group-000/checkpoints"]
    kinds += ["report.html", "results.jsonl"]

    def trial(i: int) -> str:
        place, outside = scene.unfinished("linked"), _empty(scene, "outside")
        outside.mkdir()
        at = next(iter(sorted(place.glob(kinds[i]))), place / kinds[i])
        target = outside / at.name
        if at.is_dir():
            at.rename(target)
        else:
            target.write_bytes(at.read_bytes() if at.exists() else b"theirs\n")
            at.unlink(missing_ok=True)
        at.symlink_to(target)
        before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
        found = scene.verdict(place, scene.ablate(place))
        after = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
        return found if before == after else SILENT

    return each(min(count, len(kinds)), trial)


TRIALS: dict[str, tuple[Callable[[Scene, int], Counts], int, str]] = {
    "kills": (kills, 60, "SIGKILL at a random moment"),
    "stops": (stops, 20, "SIGTERM at a random moment"),
    "checkpoint-bits": (checkpoint_bits, 100, "one bit of a checkpoint flipped"),
    "damaged-steps": (damaged_steps, 60, "a checkpoint cut, emptied, copied, exchanged"),
    "result-bits": (number_bits("*/group-000/result.json"), 20, "one bit of `result.json` flipped"),
    "metrics-bits": (number_bits("*/group-000/metrics.jsonl"), 20, "one bit of `metrics.jsonl` flipped"),
    "environment-bits": (number_bits("*/group-000/environment.json"), 20, "one bit of `environment.json` flipped"),
    "group-config-bits": (number_bits("*/group-000/config.json"), 20, "one bit of a group's `config.json` flipped"),
    "cell-config-bits": (number_bits("*/config.json"), 20, "one bit of a cell's `config.json` flipped"),
    "config-bits": (number_bits("config.json"), 20, "one bit of the ablation's `config.json` flipped"),
    "row-bits": (number_bits("results.jsonl"), 20, "one bit of `results.jsonl` flipped"),
    "record-bits": (number_bits("ablation.json"), 20, "one bit of `ablation.json` flipped"),
    "exchanged": (exchanged_files, 5, "a file of another group in the place of one"),
    "races": (races, 8, "two processes in one directory"),
    "full-disk": (full_disks, 10, "a full disk, then room"),
    "links": (links_out, 7, "a link out of the directory"),
}
"""Name: the trial, how many at scale 1, and what is done in words."""


def flip(chance: random.Random, files: list[Path]) -> None:
    """Flips one bit of all of them, each as likely as another."""
    at = chance.randrange(8 * sum(path.stat().st_size for path in files))
    for path in files:
        size = 8 * path.stat().st_size
        if at < size:
            data = bytearray(path.read_bytes())
            data[at // 8] ^= 1 << at % 8
            path.write_bytes(data)
            return
        at -= size


def _reported(scene: Scene, place: Path) -> str:
    """The outcome of ``posenc report``: the undisturbed tables, or the damage is named."""
    ended = command(["report", str(place)])
    if ended.code or "Traceback" in ended.said:
        return scene.verdict(place, ended)
    same = (place / "tables.md").read_text() == (scene.whole / "tables.md").read_text()
    named = "Not used" in ended.said and "is damaged" in " ".join(ended.said.split())
    return IDENTICAL if same else REFUSED if named else SILENT


def _worst(*found: str) -> str:
    return min(found, key=OUTCOMES.index)


def _empty(scene: Scene, name: str) -> Path:
    shutil.rmtree(scene.folder / name, ignore_errors=True)
    return scene.folder / name


def _steps(place: Path) -> list[Path]:
    folder = next(iter(sorted(place.glob("*/group-000/checkpoints"))))
    return sorted((path for path in folder.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))


def _newest(place: Path) -> Path:
    return _steps(place)[-1]


def _has_bytes(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _cut(path: Path, size: int | None = None) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 if size is None else size])


def _copied_on(step: Path) -> None:
    """An older step under the newest one's name."""
    older = step.with_name(str(int(step.name) - 8))
    source = older if older.exists() else step
    target = step.with_name(str(int(step.name) + 8)) if source is step else step
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


def _exchanged(step: Path) -> None:
    """The newest step and the one before, if it is kept, exchanged; else it gets an older name."""
    others = [path for path in step.parent.iterdir() if path.name.isdigit() and path != step]
    if not others:
        step.rename(step.with_name(str(int(step.name) - 8)))
        return
    aside = step.with_name("aside")
    step.rename(aside)
    others[0].rename(step)
    aside.rename(others[0])


def _emptied(step: Path) -> None:
    shutil.rmtree(step)
    step.mkdir()


def _stray_folder(step: Path) -> None:
    step.with_name(str(int(step.name) + 8)).mkdir()


def _stray_file(step: Path) -> None:
    step.with_name(str(int(step.name) + 8)).write_text("not a checkpoint")


def _mount(disk: Path, size: int, again: bool = False) -> None:
    remount = 32
    options = f"size={size}".encode()
    _libc("mount", b"tmpfs", str(disk).encode(), b"tmpfs", ctypes.c_ulong(remount if again else 0), options)


def _libc(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments):
        raise PermissionError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
