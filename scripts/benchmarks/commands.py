"""CPU seconds of the commands that answer at once: pictures, lists, pages."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.results import Table

IMPORTS = "import jax, numpy, posenc_jax.encodings"
PICTURES = f"{IMPORTS}, plotly.graph_objects, sklearn.manifold"

COMMANDS = {
    "list": IMPORTS,
    "aliases sinusoidal": IMPORTS,
    "explore rope": IMPORTS,
    "show sinusoidal": PICTURES,
    "show alibi": PICTURES,
    "show sinusoidal --figures png": PICTURES,
    "show sinusoidal --figures png pdf": PICTURES,
    "doctor": IMPORTS,
}
"""Command -> the imports that it cannot do without."""


def commands(rounds: int, chosen: tuple[str, ...] = tuple(COMMANDS)) -> Iterator[Table]:
    """Medians over rounds, in which the commands take turns."""
    found: dict[str, list[tuple[float, float]]] = {command: [] for command in chosen}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for command in chosen:
                whole = seconds("-m", "posenc_jax", *command.split(), cwd=Path(folder))
                found[command].append((whole, seconds("-c", COMMANDS[command], cwd=Path(folder))))
    rows = {command: tuple(map(statistics.median, zip(*times, strict=True))) for command, times in found.items()}
    yield Table(
        title="Commands that answer at once",
        about="CPU seconds of the whole command, of the imports that it cannot do without, and of the rest",
        first="posenc",
        columns={"CPU s": "{:.2f}", "imports": "{:.2f}", "the rest": "{:.2f}"},
        rows={command: (whole, imports, whole - imports) for command, (whole, imports) in rows.items()},
    )


def seconds(*words: str, cwd: Path) -> float:
    """CPU seconds of a Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, *words], check=True, capture_output=True, env=environment, cwd=cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
