"""Tables, figures and the HTML page of an ablation's directory; `build` writes them all."""

import importlib.util
import io
import shutil
from pathlib import Path
from typing import Any

from posenc_jax.drawing.bibtex import bibtex
from posenc_jax.drawing.printed import render
from posenc_jax.extras import install_command, needed
from posenc_jax.files.atomic import refuse_links, write_atomically
from posenc_jax.results import read_record, summarise
from posenc_jax.results.report import page, plots, tables

__all__ = ["build", "build_page", "missing", "text_report"]

_WRITERS = {"plotly": "report.html", "matplotlib": "figures", "pyarrow": "results.parquet"}


def build(directory: Path | str) -> list[Path]:
    """Writes the report of an ablation into its directory and returns the files, the HTML page first.

    ``report.html``, ``tables.md`` and ``tables.tex``, ``citations.bib`` where anything is cited, ``figures/<task>.png``
    and ``.pdf``, ``results.parquet``; those whose package is not installed are left out (`missing` says which). Each
    file is written aside and renamed; the same results give the same bytes. A ValueError says why there is nothing to
    report.
    """
    directory = Path(directory)
    record = read_record(directory)
    summary = summarise(record)
    absent = {output for _, output in _absent()}
    files: dict[str, bytes] = {}
    if "report.html" not in absent:
        files["report.html"] = page.page(summary).encode()
    files["tables.md"] = tables.markdown(summary).encode()
    files["tables.tex"] = tables.latex(summary).encode()
    if entries := bibtex(page.cited(summary)):
        files["citations.bib"] = entries.encode()
    if "figures" not in absent:
        for name, plot in plots.printed(summary):
            files |= {f"figures/{name}.{kind}": data for kind, data in render(plot).items()}
    if "results.parquet" not in absent:
        files["results.parquet"] = _parquet(record.rows)
    for name, data in files.items():
        refuse_links(directory, (directory / name).parent)
        (directory / name).parent.mkdir(exist_ok=True)
        write_atomically(directory / name, data)
    return [directory / name for name in files]


def build_page(directory: Path | str) -> Path | None:
    """Writes ``report.html`` alone, as `build` does, and returns it; None without plotly."""
    if importlib.util.find_spec("plotly") is None:
        return None
    directory = Path(directory)
    data = page.page(summarise(read_record(directory))).encode()
    write_atomically(directory / "report.html", data)
    return directory / "report.html"


def text_report(directory: Path | str, width: int | None = None) -> str:
    """The main tables of an ablation, at the width of the terminal unless told another; and what `build` leaves out."""
    if width is None:
        width = shutil.get_terminal_size((100, 24)).columns
    parts = [tables.terminal(summarise(read_record(directory)), width), missing()]
    return "\n".join(filter(None, parts))


def missing() -> str | None:
    """The outputs that `build` leaves out because a package is not installed, and how to install it; or None."""
    listed = ", ".join(f"{output} (needs {package})" for package, output in _absent())
    return f"Left out: {listed}. To get all: {install_command('report')}" if listed else None


def _absent() -> list[tuple[str, str]]:
    return [(package, output) for package, output in _WRITERS.items() if importlib.util.find_spec(package) is None]


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    """All rows in order."""
    with needed("report", "results.parquet"):
        import pyarrow
        import pyarrow.parquet
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pyarrow.array([row.get(name) for row in rows]) for name in names}
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()
