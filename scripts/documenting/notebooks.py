"""Pages with code as notebooks: all of them for download from the site, three in the repository."""

from __future__ import annotations

import os
import re
from pathlib import Path

from documenting.printed import as_cells, is_printed

FRONT = "---\nfile_format: mystnb\n"
FOLDER = "notebooks"
OF_REPOSITORY = {
    "your-encoding": "guides/idea-to-verdict.md",
    "your-text": "own-text.md",
    "released-models": "guides/what-a-config-declares.md",
}
"""The notebooks in scripts/notebooks, and their pages."""
_CELLS = f"{FRONT}kernelspec:\n  name: python3\n---\n\n"
_FIRST = """\
# Where posenc_jax is not installed: from an archive of a release beside this notebook, or the checkout that it is in.
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]  # `posenc` is there
package = importlib.util.find_spec("posenc_jax")
if package is None or package.origin is None:
    here = pathlib.Path.cwd()
    archives = [path for end in ("*.whl", "*.zip", "*.tar.gz") for path in sorted(here.glob(f"posenc_jax{end}"))]
    checkouts = [folder for folder in (here, *here.parents) if (folder / "posenc_jax" / "__init__.py").is_file()]
    source = next(iter([*archives, *checkouts]), None)
    if source is None:
        raise SystemExit(
            "posenc_jax is not installed here: put an archive of a release beside this notebook (posenc_jax-*.whl or "
            "posenc_jax-*.tar.gz, or posenc_jax.zip of the repository), and run this cell again"
        )
    extras = "text,report,cuda" if shutil.which("nvidia-smi") else "text,report"
    print(f"installing {source.name} with {extras}: a few minutes")
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{source}[{extras}]"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip() or f"pip says nothing, and ends with {done.returncode}"
        raise SystemExit(f"{source.name} cannot be installed: {said.splitlines()[-1]}")
"""
_LINK = '<p><a href="{}" download>This page as a notebook</a></p>'


def with_notebook(page: str, text: str, small: Path, cells: str = "") -> str:
    """The page with a link to its notebook, of ``cells`` or of itself, which is written below ``small``; a page without
    code as it is.
    """
    if not cells and not text.startswith(FRONT) and not is_printed(text):
        return text
    address = Path(FOLDER) / Path(page).with_suffix(".ipynb")
    (small / address).parent.mkdir(parents=True, exist_ok=True)
    (small / address).write_text(notebook(cells or text))
    heading = next(line for line in text.splitlines() if line.startswith("# "))
    link = _LINK.format(os.path.relpath(address, Path(page).parent))
    return text.replace(heading, f"{heading}\n\n{link}", 1)


def notebook(text: str) -> str:
    """A page as a notebook of Jupyter; its first cell says in words where the package is missing."""
    import nbformat
    from myst_nb.core.read import read_myst_markdown_notebook

    if not text.startswith(FRONT):
        text = _CELLS + as_cells(text)
    found = read_myst_markdown_notebook(text)
    heading, _, rest = found.cells[0].source.partition("\n")
    found.cells[0].source = rest.strip()
    found.cells[:0] = [nbformat.v4.new_markdown_cell(heading), nbformat.v4.new_code_cell(_FIRST)]
    found.metadata["accelerator"] = "GPU"  # which Colab then gives it
    for number, cell in enumerate(found.cells):
        cell.id = f"cell-{number}"  # in place of a random one
        if cell.cell_type == "markdown":  # Jupyter sets formulas between dollars
            cell.source = re.sub(r"^```math\n(.*?)\n```$", r"$$\1$$", cell.source, flags=re.MULTILINE | re.DOTALL)
    return str(nbformat.writes(found)) + "\n"
