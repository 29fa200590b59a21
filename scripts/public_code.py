"""How equal encodings are to public code: transformers, and the authors' repositories.

    TORCH_PYTHON=PYTHON python scripts/public_code.py [--repositories FOLDER]

compares every row of `comparing.ours` with `comparing.theirs`, keeps the differences in scripts/docs/comparisons.json
and writes their table on the catalogue's page; `scripts/regenerate` writes the table too. PYTHON has torch and
transformers, and what the repositories import. FOLDER has checkouts of repositories, each named OWNER+NAME; a
comparison whose repository is not there keeps its record.

A difference is the largest one of all numbers, as a part of the largest number, both sides in 64-bit floats as far as
the public code allows: transformers makes angles in 32-bit floats.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
from benchmarks.torch_training import python_with
from comparing.ours import COMPARISONS

from posenc_jax.drawing.markdown import code, grid, refilled

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "docs" / "comparisons.json"
PAGE = ROOT / "scripts" / "docs" / "guides" / "catalogue.md"
BEGIN = "<!-- Comparisons: written by scripts/public_code.py from scripts/docs/comparisons.json -->"
END = "<!-- end of comparisons -->"

Record = dict[str, Any]  # JSON


def main(arguments: list[str] | None = None) -> int:
    """Compares, and writes the record and the page."""
    parser = argparse.ArgumentParser(prog="scripts/public_code.py", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--repositories", metavar="FOLDER", help="checkouts of repositories, each named OWNER+NAME")
    folder = parser.parse_args(arguments).repositories
    python = python_with()
    if python is None:
        raise SystemExit("no Python with torch: TORCH_PYTHON names one")
    theirs = public(python, folder)
    before = {own["name"]: own for own in json.loads(RECORD.read_text())["comparisons"]} if RECORD.exists() else {}
    rows = [record(name, theirs[name]) if name in theirs else before[name] for name in COMPARISONS]
    head = {"made": datetime.date.today().isoformat(), "versions": versions(python)}
    RECORD.write_text(json.dumps(head | {"comparisons": rows}, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(PAGE.read_text()))
    print(f"{len(theirs)} comparisons made, {len(rows) - len(theirs)} kept; the largest difference is {largest(rows)}")
    return 0


def public(python: str, folder: str | None) -> dict[str, np.ndarray]:
    """The arrays of public code, by the name of the row."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "theirs.npz"
        command = [python, os.fspath(ROOT / "scripts" / "comparing" / "theirs.py"), os.fspath(file)]
        subprocess.run(command + ([folder] if folder else []), check=True)
        with np.load(file) as arrays:
            return {name.replace("|", "/"): arrays[name] for name in arrays.files}


def versions(python: str) -> Record:
    """Of the packages of the other side."""
    asked = "import json, torch, transformers as t; print(json.dumps({'torch': torch.__version__, 't': t.__version__}))"
    found = json.loads(subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout)
    return {"torch": found["torch"], "transformers": found["t"]}


def record(name: str, theirs: np.ndarray) -> Record:
    """One comparison."""
    own = COMPARISONS[name]
    with jax.enable_x64(True):
        ours = own.ours(own.spec)
    if ours.shape != theirs.shape:
        raise SystemExit(f"{name}: ours is {ours.shape}, theirs {theirs.shape}")
    difference = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    kept = {"name": name, "spec": own.spec, "source": own.source, "link": own.link, "what": own.what}
    return kept | {"difference": difference}


def largest(rows: list[Record]) -> str:
    return f"{max(row['difference'] for row in rows):.0e}"


def page(text: str) -> str:
    """The catalogue's page with the table of the record."""
    kept = json.loads(RECORD.read_text())
    rows = kept["comparisons"]
    said = (
        f"{len(rows)} rows are compared with public code by `scripts/public_code.py` ({kept['made']}, transformers "
        f"{kept['versions']['transformers']}). The largest difference is {largest(rows)} of the largest number; "
        "transformers makes angles in 32-bit floats."
    )
    cells = [
        [
            own["name"],
            code(own["spec"]),
            f"[{own['source']}]({own['link']})",
            own["what"],
            "0" if own["difference"] == 0 else f"{own['difference']:.0e}",
        ]
        for own in rows
    ]
    table = grid(["row", "spec", "public code", "what is compared", "difference"], ["l"] * 4 + ["r"], cells)
    return refilled(text, BEGIN, f"{said}\n\n{table}", END)


if __name__ == "__main__":
    sys.exit(main())
