"""Pages set by pdflatex, where it is."""

import shutil
import subprocess

import pytest

from posenc_jax.drawing.latex import PACKAGES

needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdflatex is missing (Debian: texlive-latex-recommended)"
)


def check_margins(folder, layout, tables):
    """Sets the tables in an article of one column or of two; fails where something reaches beyond a margin."""
    head = rf"\documentclass[{layout},a4paper]{{article}}\usepackage{{{','.join(PACKAGES)}}}"
    page = [head, r"\begin{document}", *tables, r"\end{document}"]
    (folder / "page.tex").write_text("\n\n".join(page) + "\n")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert (folder / "page.pdf").exists()
