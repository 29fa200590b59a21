"""Time of the same command on a finished ablation, at the scale of large comparisons: `posenc ablate`
again, which has nothing to do, and the report. A cell is trained once; the others are made of its files.
"""

from __future__ import annotations

import dataclasses
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import Table
from posenc_jax import Ablation, Evaluation, Execution, Run, Training, Transformer, parse, run
from posenc_jax.config import config_hash
from posenc_jax.data.tasks import Copying
from posenc_jax.encodings import spec
from posenc_jax.runs.directory import group_directories
from posenc_jax.runs.files import read_json, sealed_line, write_json
from posenc_jax.runs.identity import claim
from posenc_jax.runs.reporter import Reporter

CONFIG = """from benchmarks.finished import ablation
config = ablation({cells}, {seeds})
"""
IMPORTS = "import jax, posenc_jax.cli.overrides, posenc_jax.report, posenc_jax.runs.executors; jax.devices()"


def ablation(cells: int, seeds: int) -> Ablation:
    """RoPE at so many bases."""
    base = Run(
        task=Copying(kind="rsc", max_length=3, num_symbols=3),
        model=Transformer(d_model=8, num_layers=1, num_heads=2),
        training=Training(
            steps=4, batch_size=4, steps_per_call=2, log_every=2, checkpoint_every=2, validation_batches=1
        ),
        evaluation=Evaluation(lengths=(2, 4), num_examples=4),
        execution=Execution(mode="map", group_size=1),
        seeds=tuple(range(seeds)),
    )
    runs = [
        dataclasses.replace(base, posenc=parse(f"rope(base={1000 + i})"), label=f"base {1000 + i}")
        for i in range(cells)
    ]
    return Ablation("finished", tuple(runs), baseline=runs[0].label)


def make(config: Ablation, directory: Path) -> None:
    """Every cell of the ablation as if it had been trained: the first is, the others get its numbers."""
    directory.mkdir(parents=True)
    claim(directory, config)
    first, *others = config.runs
    run(first, directory / first.directory_name, reporter=Reporter())
    for cell in others:
        home = directory / cell.directory_name
        home.mkdir()
        claim(home, cell)
        for group in group_directories(directory / first.directory_name):
            copy = home / group.name
            shutil.copytree(group, copy, ignore=shutil.ignore_patterns("checkpoints"))
            own = {"label": cell.label, "posenc": spec(cell.posenc), "config_hash": config_hash(cell)}
            members = read_json(group / "config.json") | read_json(home / "config.json")
            write_json(copy / "config.json", members | {"config_hash": own["config_hash"]})
            (copy / "result.json").write_text(sealed_line(read_json(group / "result.json") | own))


def finished(cells: int = 300, seeds: int = 1) -> Iterator[Table]:
    """CPU seconds of the whole command beyond those of its imports, and the size of the page."""
    with tempfile.TemporaryDirectory() as folder:
        place, file = Path(folder, "runs"), Path(folder, "many.py")
        file.write_text(CONFIG.format(cells=cells, seeds=seeds))
        make(ablation(cells, seeds), place)
        imports = seconds("-c", IMPORTS)
        command = ("-m", "posenc_jax", "ablate", str(file), "--directory", str(place))
        rows: dict[str, tuple[float | None, ...]]
        rows = {name: (seconds(*command) - imports, None, None) for name in ("with its report", "complete")}
        overridden = (*command, "--training.steps", "4")
        seconds(*overridden)  # after which the report has this command too
        rows["complete, with an override"] = (seconds(*overridden) - imports, None, None)
        page = place / "report.html"
        rows["report.html"] = (None, page.stat().st_size / 1e6, opened(page))
    yield Table(
        title=f"An ablation of {cells} finished cells, {seeds} seeds each, again",
        about="CPU seconds of the command, beyond those of its imports; megabytes of the page, and seconds in which "
        "Chromium has it open, beyond those for an empty one",
        first="command",
        columns={"CPU s": "{:.1f}", "MB": "{:.1f}", "opened in s": "{:.1f}"},
        rows=rows,
    )


def opened(page: Path) -> float | None:
    """Seconds in which Chromium has a page open, beyond those for an empty one, the least of three; None without it."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("there is no Chromium: it is not measured how fast a page opens", file=sys.stderr)
        return None

    def taken(address: str) -> float:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
            begun = time.perf_counter()
            subprocess.run([*command, "--dump-dom", address], check=True, capture_output=True)
            return time.perf_counter() - begun

    whole, empty = (min(taken(address) for _ in range(3)) for address in (page.as_uri(), "about:blank"))
    return whole - empty


def seconds(*words: str, cwd: Path | None = None) -> float:
    """CPU seconds of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=environment, cwd=cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
