"""``posenc explore``: writes its page, or says in one line why not."""

import json
import re

from posenc_jax.cli import main
from posenc_jax.show.explorer import ExplorerState


def test_it_writes_the_page_that_was_asked_for_and_prints_its_path(tmp_path, printed):
    path = tmp_path / "rope.html"
    arguments = ["rope", "--d-model", "64", "--base", "500", "--pair", "3", "9", "--frequencies", "resonance"]
    assert printed("explore", *arguments, "--output", str(path)) == f"{path}\n"
    start = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8")).group(1))["start"]
    assert ExplorerState(**start) == ExplorerState("rope", d=64, base=500.0, frequencies="resonance", a=3, b=9)


def test_it_writes_explorer_html_here(tmp_path, printed, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert printed("explore") == "explorer.html\n"
    start = re.search(r'id="data">(.*?)</script>', (tmp_path / "explorer.html").read_text(encoding="utf-8")).group(1)
    assert ExplorerState(**json.loads(start)["start"]) == ExplorerState("sinusoidal", d=8, a=5, b=68)
    assert [path.name for path in tmp_path.iterdir()] == ["explorer.html"]


def test_a_page_replaces_a_link_and_not_what_it_leads_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.html").symlink_to("notes.txt")
    assert main(["explore", "--output", "link.html"]) == 0
    assert not (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "notes.txt").read_text() == "mine"
