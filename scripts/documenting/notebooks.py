"""The pages with code as notebooks, for download."""

from __future__ import annotations

import os
import re
from pathlib import Path

FRONT = "---\nfile_format: mystnb\n"
FOLDER = "notebooks"
_FIRST = """# Where posenc_jax is not installed, an archive of its repository beside this notebook is.
import glob
import importlib.util
import subprocess
import sys

if importlib.util.find_spec("posenc_jax") is None:
    archives = [file for end in ("whl", "zip", "tar.gz") for file in sorted(glob.glob(f"*posenc*jax*.{end}"))]
    if not archives:
        raise SystemExit("posenc_jax is not installed here: put an archive of its repository beside this notebook")
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", f"{archives[0]}[report]"], check=True)
"""
_LINK = '<p><a href="{}" download>This page as a notebook</a></p>'


def with_notebook(page: str, text: str, small: Path) -> str:
    """The page with a link to its notebook, which is written below ``small``; a page without code as it is."""
    if not text.startswith(FRONT):
        return text
    address = Path(FOLDER) / Path(page).with_suffix(".ipynb")
    (small / address).parent.mkdir(parents=True, exist_ok=True)
    (small / address).write_text(notebook(text))
    heading = next(line for line in text.splitlines() if line.startswith("# "))
    link = _LINK.format(os.path.relpath(address, Path(page).parent))
    return text.replace(heading, f"{heading}\n\n{link}", 1)


def notebook(text: str) -> str:
    """A page of MyST as a notebook of Jupyter; its first cell says in words where the package is missing."""
    import nbformat
    from myst_nb.core.read import read_myst_markdown_notebook

    found = read_myst_markdown_notebook(text)
    found.cells.insert(0, nbformat.v4.new_code_cell(_FIRST))
    for number, cell in enumerate(found.cells):
        cell.id = f"cell-{number}"  # in place of a random one
        if cell.cell_type == "markdown":  # Jupyter sets formulas between dollars
            cell.source = re.sub(r"^```math\n(.*?)\n```$", r"$$\1$$", cell.source, flags=re.MULTILINE | re.DOTALL)
    return str(nbformat.writes(found)) + "\n"
