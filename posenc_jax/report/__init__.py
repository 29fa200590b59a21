"""Tables, figures and the HTML report of an ablation directory; `build` writes them all."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

from posenc_jax.report import figures, html, parquet, tables
from posenc_jax.report.results import Ablation, load
from posenc_jax.report.style import styles
from posenc_jax.report.summary import Summary, summarise

__all__ = ["Ablation", "Summary", "build", "load", "missing", "summarise", "text_report"]

_WRITERS = {"plotly": "report.html", "matplotlib": "figures", "pyarrow": "results.parquet"}


def build(directory: Path | str) -> list[Path]:
    """Writes the report of an ablation into its directory and returns the files, the HTML page first.

    ``report.html``, ``tables.md`` and ``tables.tex``, ``figures/<task>.png`` and ``.pdf``, ``results.parquet``; those
    whose package is not installed are left out (`missing` says which). Each file is written aside and renamed; the same
    results give the same bytes. A ValueError says why there is nothing to report.
    """
    directory = Path(directory)
    ablation = load(directory)
    summary = summarise(ablation)
    absent = {output for _, output in _absent()}
    files: dict[str, bytes] = {}
    if "report.html" not in absent:
        files["report.html"] = html.page(summary).encode()
    files["tables.md"] = tables.markdown(summary).encode()
    files["tables.tex"] = tables.latex(summary).encode()
    if "figures" not in absent:
        for task in summary.tasks:
            if any(cell.curve for cell in task.cells):
                for kind, data in figures.render(task, styles(summary.labels)).items():
                    files[f"figures/{task.slug}.{kind}"] = data
    if "results.parquet" not in absent:
        files["results.parquet"] = parquet.parquet_bytes(ablation.rows)
    return [_write(directory / name, data) for name, data in files.items()]


def text_report(directory: Path | str, width: int | None = None) -> str:
    """The main tables of an ablation, at the width of the terminal unless told another; and what `build` leaves out."""
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns
    parts = [tables.terminal(summarise(load(directory)), width), missing()]
    return "\n".join(filter(None, parts))


def missing() -> str | None:
    """What `build` leaves out because a package is not installed, and the way out; or None."""
    listed = ", ".join(f"{output} (needs {package})" for package, output in _absent())
    return f"Left out: {listed}. To have all: pip install 'posenc-jax[report]'" if listed else None


def _absent() -> list[tuple[str, str]]:
    return [(package, output) for package, output in _WRITERS.items() if importlib.util.find_spec(package) is None]


def _write(path: Path, data: bytes) -> Path:
    """Writes beside and renames, so that a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(data)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    return path
