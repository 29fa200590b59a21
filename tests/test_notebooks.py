"""Notebooks of pages. Those in scripts/notebooks are of today, are installed where they are put, run as they stand."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from documenting import notebooks, pages
from documenting.printed import MARKER

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: install requirements.lock")

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "scripts" / "notebooks"
FILES = sorted(FOLDER.glob("*.ipynb"))
needs_reader = pytest.mark.skipif(
    importlib.util.find_spec("myst_nb") is None, reason="myst-nb is not installed: install requirements.lock"
)


@needs_reader
def test_they_are_those_of_their_pages():
    made = pages.notebooks_of_repository()
    assert sorted(made) == FILES
    for file, text in made.items():
        assert file.read_text() == text, "run scripts/regenerate"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_their_links_lead_somewhere(file):
    found = nbformat.reads(file.read_text(), as_version=4)
    nbformat.validate(found)
    text = "\n".join(cell.source for cell in found.cells if cell.cell_type == "markdown")
    links = [link for link in pages.links(text) if not pages.is_elsewhere(link)]
    assert links
    assert [link for link in links if not (FOLDER / link.partition("#")[0]).is_file()] == []


@needs_reader
def test_a_page_with_code_is_a_notebook_too(tmp_path):
    text = (pages.DOCS / "guides" / "idea-to-verdict.md").read_text()
    page = notebooks.with_notebook("guides/idea-to-verdict.md", text, tmp_path)
    assert '<a href="../notebooks/guides/idea-to-verdict.ipynb" download>' in page
    found = nbformat.reads((tmp_path / "notebooks/guides/idea-to-verdict.ipynb").read_text(), as_version=4)
    nbformat.validate(found)
    first, *cells = (cell.source for cell in found.cells if cell.cell_type == "code")
    assert "posenc_jax is not installed here: put an archive" in first
    written = re.findall(r"^```\{code-cell\}\n(?::[^\n]*\n)*(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert [cell.strip() for cell in cells] == [code.strip() for code in written]
    assert notebooks.with_notebook("a.md", "# A page\n", tmp_path) == "# A page\n"
    printed = f"# B\n\n{MARKER}\n\nC.\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n"
    assert '<a href="notebooks/b.ipynb" download>' in notebooks.with_notebook("b.md", printed, tmp_path)
    found = nbformat.reads((tmp_path / "notebooks/b.ipynb").read_text(), as_version=4)
    assert [cell.source for cell in found.cells if cell.source != first] == ["# B", "C.", "print(1)"]


def installed(here, monkeypatch, package=None, driver=None, error=None):
    """What the first cell installs in a folder, or the line that it ends with."""
    (first, *_) = (cell.source for cell in nbformat.read(FILES[0], as_version=4).cells if cell.cell_type == "code")
    asked = []
    monkeypatch.chdir(here)
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: package)
    monkeypatch.setattr("shutil.which", lambda name: driver)

    def run(words, **how):
        asked.append(words)
        return SimpleNamespace(returncode=int(error is not None), stderr=error or "")

    monkeypatch.setattr(subprocess, "run", run)
    try:
        exec(first, {})
    except SystemExit as error:
        return str(error)
    assert all(words[:4] == [sys.executable, "-m", "pip", "install"] for words in asked)
    return asked[0][-1] if asked else None


def test_the_package_is_installed_from_an_archive_or_a_checkout_and_from_nothing_else(tmp_path, monkeypatch):
    (tmp_path / "clone" / "posenc_jax").mkdir(parents=True)
    (tmp_path / "clone" / "posenc_jax" / "__init__.py").touch()
    assert re.fullmatch("posenc_jax is not installed here: put an archive .*", installed(tmp_path, monkeypatch))
    (tmp_path / "posenc_jax.zip").touch()
    assert installed(tmp_path, monkeypatch) == f"{tmp_path / 'posenc_jax.zip'}[text,report]"
    assert installed(tmp_path, monkeypatch, driver="/bin/nvidia-smi").endswith("[text,report,cuda]")
    (tmp_path / "posenc_jax-0.1.0.tar.gz").touch()
    (tmp_path / "posenc_jax-0.1.0-py3-none-any.whl").touch()
    assert installed(tmp_path, monkeypatch) == f"{tmp_path / 'posenc_jax-0.1.0-py3-none-any.whl'}[text,report]"
    (tmp_path / "clone" / "notebooks").mkdir()
    assert installed(tmp_path / "clone" / "notebooks", monkeypatch) == f"{tmp_path / 'clone'}[text,report]"
    (tmp_path / "posenc_jax-0.1.0-py3-none-any.whl").unlink()
    assert installed(tmp_path, monkeypatch) == f"{tmp_path / 'posenc_jax.zip'}[text,report]"
    said = installed(tmp_path, monkeypatch, error="a warning\nERROR: no network\n")
    assert said == "posenc_jax.zip cannot be installed: ERROR: no network"
    there = importlib.util.spec_from_file_location("posenc_jax", "x.py")
    assert installed(tmp_path, monkeypatch, there) is None


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(importlib.util.find_spec("nbclient") is None, reason="nbclient is not installed")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_they_run_as_they_stand_in_an_empty_folder(file, tmp_path, monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    found = nbformat.read(file, as_version=4)
    NotebookClient(found, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in found.cells for output in cell.get("outputs", [])]
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in shown]
    assert any(texts)
    assert max(text.count("\n") for text in texts) < 100
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", "".join(texts)), "no codes of terminals"
