"""A page of the site that fails says why; the whole site: tests/test_site_in_browser.py."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import build_docs
import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(
    None in map(importlib.util.find_spec, ("myst_nb", "latex2mathml")),
    reason="there is no Sphinx here, or no latex2mathml: install requirements.lock",
)


def python(*arguments):
    """A finished Python, and all that it said."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))  # of the kernel and of `%%sh`
    environment = os.environ | {"PATH": path, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "scripts")))}
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    return done, done.stdout + done.stderr


def test_a_failed_cell_is_told_in_short():
    bars, error = "-" * 18, "\x1b[31mValueError\x1b[39m: b must be positive"
    report = f"Traceback\n  File x\nError: the following cell:\n{bars}\na = 1\nf(a)\n{bars}\n"
    assert build_docs.in_short(f"{report}\nTraceback\n  File y\n{error}\n") == (
        "this cell failed\n    a = 1\n    f(a)\n    ValueError: b must be positive"
    )
    stream = "----- stdout -----\n" + "\n".join(map(str, range(90)))
    short = build_docs.in_short(f"{report}{stream}\n{bars}\n\nTraceback\n{error}\n").splitlines()
    assert [line.strip() for line in short[3:]] == [*map(str, range(70, 90)), "ValueError: b must be positive"]
    assert build_docs.in_short("Traceback\n\nTimeoutError: after 180 s\n") == "TimeoutError: after 180 s"


def test_a_page_that_fails_says_its_cell_and_its_output_or_its_formula(tmp_path):
    page = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n---\n\n# A\n\n"
    page += "```{code-cell}\n%%sh\necho this was said; exit 3\n```\n"
    source = tmp_path / "source"
    (source / "_small").mkdir(parents=True)
    shutil.copytree(ROOT / "scripts" / "docs" / "_static", source / "_static")
    for name in ("conf.py", "scorer.js"):
        shutil.copy(ROOT / "scripts" / "docs" / name, source)
    (source / "index.md").write_text(f"{page}\n```{{toctree}}\na/index\nb/index\n```\n")
    for branch in "ab":
        (source / branch).mkdir()
        (source / branch / "index.md").write_text(f"# {branch}\n\n```{{toctree}}\nleaf_{branch}\n```\n")
        (source / branch / f"leaf_{branch}.md").write_text("# Leaf\n")
    for number in range(8):  # enough to be read by several processes
        (source / f"other{number}.md").write_text("---\norphan: true\n---\n\n# B\n")
    formulas = "{math}`a + \\alfa`\n\n```math\n\\mathbf{a}_i = b\n```\n"
    (source / "formula.md").write_text(f"---\norphan: true\n---\n\n# C\n\n{formulas}")
    done, said = python(
        "-c", f"import pathlib, build_docs; raise SystemExit(build_docs.sphinx(pathlib.Path({str(tmp_path)!r})))"
    )
    assert done.returncode != 0
    told = "index.md: this cell failed\n    %%sh\n    echo this was said; exit 3\n"
    assert told in said
    assert "\n    this was said\n" in said.partition(told)[2]
    assert re.search(r"\n    CalledProcessError: .* status 3", said.partition(told)[2])
    assert "Traceback" not in said
    assert (tmp_path / "html" / "other7.html").exists(), said
    assert re.search(r"source/formula\.md:\d+: .*\\alfa is not known", said), said
    assert "<msub><mi>&#x1D41A;</mi><mi>i</mi></msub>" in (tmp_path / "html" / "formula.html").read_text()
    leaf = (tmp_path / "html" / "a" / "leaf_a.html").read_text()
    assert "b/index.html" in leaf  # the sidebar opens the branch of its page alone
    assert "leaf_b" not in leaf
    assert "mathbf" not in (tmp_path / "html" / "searchindex.js").read_text()


def test_the_newest_version_is_listed_after_latest(tmp_path, monkeypatch):
    monkeypatch.setattr(build_docs.posenc_jax, "__version__", "0.10.2")
    (tmp_path / "html").mkdir()
    for name in ("0.2", "0.9"):
        (tmp_path / "site" / name).mkdir(parents=True)
    build_docs.by_version(tmp_path)
    listed = (tmp_path / "site" / "versions.html").read_text()
    assert re.findall(r"<a href=\"(.*?)/index", listed) == ["latest", "0.10", "0.9", "0.2"]
