"""Inputs that the commands must not take as they are: exchanged and damaged files of pages, own code that
ends or raises, names in any script, values without a meaning, other settings, outputs that are full.

A trial is a case of a list. Its outcome is as everywhere: *identical* where the right thing came of it, *refused* where
a line, or the page itself, says what is not as it should be.
"""

from __future__ import annotations

import functools
import html
import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fault_battery.scene import (
    IDENTICAL,
    REFUSED,
    SILENT,
    TRACEBACK,
    Ended,
    Scene,
    command,
    each,
    finish,
    one_line,
    posenc,
)
from fault_battery.trials import disk_of, flip
from posenc_jax.drawing.plain import plain

Counts = dict[str, int]

RUN = """
import dataclasses
from posenc_jax import Ablation, Evaluation, Execution, Run, Training, Transformer, parse
from posenc_jax.data.tasks import Copying
run = Run(
    task=Copying(kind="rsc", max_length=3, num_symbols=3), posenc=parse("nope"), seeds=(0,),
    model=Transformer(d_model=8, num_layers=1, num_heads=2), execution=Execution(mode="map", group_size=1),
    training=Training(steps=4, batch_size=4, steps_per_call=2, log_every=2, checkpoint_every=2, keep_every=2,
        validation_batches=1),
    evaluation=Evaluation(lengths=(2, 4), num_examples=4),
)
def cells(**named):
    runs = tuple(dataclasses.replace(run, label=label, **fields) for label, fields in named.items())
    return Ablation("small", runs, baseline=runs[0].label)
"""
"""Of a config file; a last line says ``config = ...``."""

OWN = """
import asyncio, dataclasses, sys
from posenc_jax.encodings import PositionalEncoding
class Own(BaseException):
    pass
@dataclasses.dataclass(frozen=True)
class Mine(PositionalEncoding):
    name = {name!r}
    def {hook}:
        {body}
"""
HOOKS = {
    "bias": "bias(self, params, geometry)",
    "init": "bias(self, params, geometry):\n        return None\n    def init(self, key, dims)",
    "keys": "encode_keys(self, params, k, positions, length)",
}
ENDINGS = ("sys.exit()", "sys.exit(0)", "sys.exit('done')", "raise asyncio.CancelledError('x')", "raise Own('x')")


def file_of(scene: Scene, config: str) -> Path:
    """A config file of the small run."""
    path = scene.folder / "small.py"
    path.write_text(f"{RUN}\nconfig = {config}\n")
    return path


@functools.cache
def two_cells(scene: Scene) -> Path:
    """A finished ablation of two cells, each with the report of `visible`."""
    place = scene.folder / "two"
    config = file_of(scene, "cells(one={}, two={'posenc': parse('alibi')})")
    done = command(["ablate", str(config), "--directory", str(place)])
    if done.code:
        raise SystemExit(f"scripts/faults: two undisturbed cells failed:\n{done.said}")
    return place


@functools.cache
def trained(scene: Scene) -> Path:
    """A finished run."""
    place = scene.folder / "trained"
    done = command(["train", str(file_of(scene, "run")), "--directory", str(place)])
    if done.code:
        raise SystemExit(f"scripts/faults: the undisturbed run failed:\n{done.said}")
    return place


def fresh(scene: Scene, name: str, source: Path | None = None) -> Path:
    """A place that is not there, or a copy of another."""
    shutil.rmtree(scene.folder / name, ignore_errors=True)
    return scene.folder / name if source is None else Path(shutil.copytree(source, scene.folder / name))


def visible(page: Path) -> str:
    """The visible text of a page, its figures included."""
    without = r"<style.*?</style>|<script(?! type=.application/json).*?</script>"
    return re.sub(without, " ", page.read_text(), flags=re.DOTALL)


def refusal(ended: Ended) -> str:
    """The outcome of a command that must be refused."""
    if _of_the_project(ended.said):
        return TRACEBACK
    if not ended.code:
        return SILENT
    return REFUSED if one_line(ended.said) or "usage:" in ended.said or "─" in ended.said else TRACEBACK


def _of_the_project(said: str) -> bool:
    """True if frames of the project are shown; those of the user's own file may be."""
    return any(line.strip().startswith("File ") and "/posenc_jax/" in line for line in said.splitlines())


def reported(undisturbed: Path, place: Path) -> str:
    """The outcome of ``posenc report``: the same page, a page or a line that says what is missing, or a refusal."""
    (place / "report.html").unlink()
    ended = command(["report", str(place)])
    if ended.code or "Traceback" in ended.said:
        return refusal(ended)
    if visible(place / "report.html") == visible(undisturbed / "report.html"):
        return IDENTICAL
    return REFUSED if _words(place, ended.said) - _undisturbed(undisturbed) else SILENT


def _words(place: Path, said: str) -> set[str]:
    """All words of a page, and of what was said when it was made."""
    return set(re.findall(r"[A-Za-z]{4,}", visible(place / "report.html") + said.replace(str(place), "")))


@functools.cache
def _undisturbed(place: Path) -> set[str]:
    return _words(place, command(["report", str(place)]).said)


def _exchange(first: Path, second: Path) -> None:
    between = first.with_name("between")
    first.rename(between)
    second.rename(first)
    between.rename(second)


def exchanged_cells(scene: Scene, count: int) -> Counts:
    """Whole and undamaged files or folders of a cell in the place of another's, then ``posenc report``."""
    cases = ("", "group-000", *(f"group-000/{name}" for name in ("metrics.jsonl", "timing.jsonl", "result.json")))

    def trial(i: int) -> str:
        place = fresh(scene, "cells", two_cells(scene))
        first, second = sorted(path.parent for path in place.glob("*/config.json"))
        _exchange(first / cases[i], second / cases[i])
        return reported(two_cells(scene), place)

    return each(min(count, len(cases)), trial)


def page_bits(scene: Scene, count: int) -> Counts:
    """One flipped bit in a file that curves and times come from, then ``posenc report``."""

    def trial(i: int) -> str:
        place = fresh(scene, "page", two_cells(scene))
        flip(random.Random(i), sorted(place.glob(f"*/group-000/{('metrics', 'timing')[i % 2]}.jsonl"))[:1])
        return reported(two_cells(scene), place)

    return each(count, trial)


def weights_bits(scene: Scene, count: int) -> Counts:
    """One flipped bit in an exported file, then what reads it."""
    whole = scene.folder / "whole.safetensors"
    command(["weights", "export", str(trained(scene)), str(whole)])
    expected = _shown(command(["weights", "inspect", str(whole)]).said, whole)

    def trial(i: int) -> str:
        damaged = scene.folder / "damaged.safetensors"
        shutil.copy(whole, damaged)
        flip(random.Random(i), [damaged])
        ended = command(["weights", "inspect", str(damaged)])
        if ended.code or "Traceback" in ended.said:
            return refusal(ended)
        place = fresh(scene, "started")
        words = ["train", str(file_of(scene, "run")), "--directory", str(place), "--init-from", str(damaged)]
        started = command(words)
        if started.code or "Traceback" in started.said:
            return refusal(started)
        return IDENTICAL if _shown(ended.said, damaged) == expected and _tensors(damaged) == _tensors(whole) else SILENT

    return each(count, trial)


def _shown(said: str, file: Path) -> str:
    return said.replace(str(file), "FILE").replace(file.name, "FILE")


def _tensors(path: Path) -> bytes:
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :]


def own_code(scene: Scene, count: int) -> Counts:
    """A hook of an own encoding that exits, or raises what is no Exception."""
    cases = [(hook, body) for hook in HOOKS for body in ENDINGS]

    def trial(i: int) -> str:
        hook, body = cases[i]
        file = scene.folder / "mine.py"
        file.write_text(OWN.format(name="mine", hook=HOOKS[hook], body=body))
        training = train(scene, fresh(scene, "own"), "--posenc", f"{file}:Mine")
        both = [apart(words) for words in (["audit", f"{file}:Mine", "--no-timing"], training)]
        if any(_of_the_project(ended.said) for ended in both):
            return TRACEBACK
        return REFUSED if all(ended.code and "mine.py" in ended.said for ended in both) else SILENT

    return each(min(count, len(cases)), trial)


def train(scene: Scene, place: Path, *more: str) -> list[str]:
    return ["train", str(file_of(scene, "run")), "--directory", str(place), *more]


def apart(words: Sequence[Any], **more: Any) -> Ended:
    """Runs a trial in a process of its own."""
    return finish(posenc([str(word) for word in words], **more))


NAMES = (
    *("_mine", "$\\frac$", "$x_1$", "50 % & more", "a^b\\c", "<b>bold</b>", "</script><script>x", "a|b", "-", "None"),
    *("\x1b]0;T\x07\x1b[31mred", "a\nb", "\u202eback", "\u4f4d\u7f6e\u7f16\u7801", "\U0001f600", "x" * 300, "\udcff"),
)


def names(scene: Scene, count: int) -> Counts:
    """Labels that a terminal, a page, LaTeX or a figure might obey, or lose: they are kept as they are, or refused
    before anything is written.
    """

    def trial(i: int) -> str:
        name, place = NAMES[i], fresh(scene, "named")
        config = file_of(scene, f"cells(**{{'plain': {{}}, {name!r}: {{'posenc': parse('alibi')}}}})")
        ended = command(["ablate", str(config), "--directory", str(place)])
        if ended.code or "Traceback" in ended.said:
            found = refusal(ended)
            return SILENT if found == REFUSED and any(place.rglob("*.json")) else found
        rows = [json.loads(line) for line in (place / "results.jsonl").read_text().splitlines()]
        page, latex = (place / "report.html").read_text(), (place / "tables.tex").read_text()
        kept = name in {row["label"] for row in rows}
        written = any(html.escape(shown)[:20] in page for shown in (" ".join(name.split()), plain(name)))
        obeyed = re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", ended.said + page + latex)
        return IDENTICAL if kept and written and not obeyed and "Warning" not in ended.said else SILENT

    return each(min(count, len(NAMES)), trial)


FULL = ("list", "list yarn", "--version", "--help", "train --help", "ablate --help", "doctor", "data list")


def full_outputs(scene: Scene, count: int) -> Counts:
    """Output that finds no room (``/dev/full``)."""

    def trial(i: int) -> str:
        with open("/dev/full", "wb") as full:
            command_line = [sys.executable, "-m", "posenc_jax", *FULL[i].split()]
            done = subprocess.run(command_line, stdout=full, stderr=subprocess.PIPE, check=False, cwd=scene.folder)
        said = done.stderr.decode(errors="replace")
        if "Traceback" in said or "Exception ignored" in said:
            return TRACEBACK
        return refusal(Ended(done.returncode, said))

    return each(min(count, len(FULL)), trial)


def full_disks(scene: Scene, count: int) -> Counts:
    """A disk with too little room for what other commands than ``ablate`` write (only root can mount one)."""
    table = scene.folder / "big.csv"
    rows = (f"word {i} and {i * 7919 % 10007} more,{'ab'[i % 2]}\n" for i in range(3000))
    table.write_text("".join(["text,label\n", *rows]))
    columns = ["--field", "text", "--label", "label"]
    two = fresh(scene, "other", two_cells(scene))

    def written(i: int, disk: Path) -> tuple[Ended, set[Path]]:
        """The end of a command, and the files that it left."""
        cases = (
            ["data", "add", "full", "--csv", table, *columns, "--directory", disk / "data"],
            ["merge", two_cells(scene), two, "-o", disk / "merged"],
            ["weights", "export", trained(scene), disk / "w.safetensors"],
            train(scene, disk / "run"),
        )
        ended = command([str(word) for word in cases[i]])
        return ended, {path.relative_to(disk) for path in disk.rglob("*") if path.suffix.startswith(".json")}

    def trial(i: int) -> str:
        with disk_of(scene, (4, 40, 200)[i % 3] * 1024) as disk:
            ended, files = written(i // 3, disk)
        if not ended.code:
            roomy = fresh(scene, "roomy")
            roomy.mkdir()
            return IDENTICAL if files == written(i // 3, roomy)[1] else SILENT
        found = refusal(ended)
        line = ended.said.strip().splitlines()[-1] if ended.said.strip() else ""
        return found if found != REFUSED or (len(line) < 1000 and re.search("room|space", line)) else TRACEBACK

    return each(min(count, 12), trial)


TRIALS: dict[str, tuple[Callable[[Scene, int], Counts], int, str]] = {
    "exchanged-cells": (exchanged_cells, 5, "cells, groups or their files exchanged, then the report"),
    "page-bits": (page_bits, 20, "one bit of curves or times flipped, then the report"),
    "weights-bits": (weights_bits, 40, "one bit of an exported file of weights flipped"),
    "own-code": (own_code, 15, "own code that exits, or raises no `Exception`"),
    "names": (names, 17, "labels in any script, with control characters and markup"),
    "full-output": (full_outputs, 8, "output to a full disk"),
    "full-disk-elsewhere": (full_disks, 12, "a full disk under other commands"),
}
"""As `trials.TRIALS`."""
