"""Paths as people write them: ~user of nobody and what is no text are refused in one line, wherever a path stands."""

import dataclasses
import os
import re
import sys
import warnings
from pathlib import Path

import pytest
from trained_runs import CONFIG

from posenc_jax.data.corpora.store import data_directory, manifest
from posenc_jax.data.errors import DataError
from posenc_jax.data.text.base import Data
from posenc_jax.encodings import parse
from posenc_jax.files.user_paths import PathError, full
from posenc_jax.runs.cell import run

ROOT = Path(__file__).parent.parent
NOBODY = "~nobodyhere/x"
NO_HOME = "there is no home directory of '~nobodyhere': write the path in full"


def test_a_home_is_expanded(monkeypatch):
    monkeypatch.setenv("HOME", "/home/of")
    assert full("~/x") == Path("/home/of/x")
    assert full(Path("a/~b")) == Path("a/~b")
    monkeypatch.setenv("POSENC_DATA", "~/data")
    assert data_directory() == Path("/home/of/data")
    monkeypatch.setenv("POSENC_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert data_directory() == Path("/home/of/.cache/posenc_jax/data")


def test_a_home_of_nobody_and_what_is_no_text_are_refused():
    with pytest.raises(PathError, match=f"^{NOBODY}: {NO_HOME}$"):
        full(NOBODY)
    with pytest.raises(PathError, match=r"^there = a.* has bytes that are no text in UTF-8"):
        full("a\udcff", "there")


@pytest.mark.skipif(os.name != "posix" or sys.platform == "darwin", reason="folders have names in UTF-8 here")
def test_a_folder_whose_name_is_no_text_is_refused(tmp_path, monkeypatch, refusal):
    (tmp_path / "odd\udcff").mkdir()
    monkeypatch.chdir(tmp_path / "odd\udcff")
    with pytest.raises(PathError, match=r"^new lies in .*, and no file could keep it: go to another folder$"):
        run(CONFIG, "new")
    assert full("/new") == Path("/new")
    assert "x.json lies in " in refusal("audit", "nope", "--json", "x.json")
    assert os.listdir() == []


@pytest.mark.parametrize("line", ["data add x --text loop", "report loop there -o new", "report loop --csv there.txt"])
def test_a_link_to_itself_is_refused_in_one_line(tmp_path, monkeypatch, refusal, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "there.txt").touch()
    assert "loop" in refusal(*line.split())


def test_a_corpus_whose_manifest_is_a_link_to_itself_is_damaged(tmp_path):
    home = tmp_path / "own" / "x"
    home.mkdir(parents=True)
    (home / "manifest.json").symlink_to("manifest.json")
    with pytest.raises(DataError, match=r"manifest\.json is damaged .*(?:loop|symbolic links)"):
        manifest("own/x", tmp_path)


def test_only_one_function_follows_links():
    """`Path.resolve` raises what nobody expects for a link to itself, on Python up to 3.12."""
    for path in (ROOT / "posenc_jax").rglob("*.py"):
        assert not re.findall(r"(?<!\(__file__\))(?<!\.__file__\))\.resolve\(", path.read_text()), path


def test_only_one_function_expands_a_home():
    for path in (ROOT / "posenc_jax").rglob("*.py"):
        assert ("expanduser" in path.read_text()) == (path.name == "user_paths.py"), path


@pytest.mark.parametrize(
    "line",
    [
        "train run.py --directory ~",
        "train ~.py",
        "weights export ~ w.safetensors",
        "evaluate run --trust ~",
        "report a b -o ~",
        "data list --directory ~",
        "show rope --output ~",
        "audit rope --json ~",
    ],
)
def test_every_path_of_a_command_line(tmp_path, monkeypatch, refusal, line):
    monkeypatch.chdir(tmp_path)
    Path("run.py").write_text("from trained_runs import CONFIG as config\n")
    assert NO_HOME in refusal(*line.replace("~", NOBODY).split())
    assert os.listdir() == ["run.py"]


@pytest.mark.parametrize("value", [NOBODY, "a\udcff"])
def test_a_variable(monkeypatch, refusal, value):
    monkeypatch.setenv("POSENC_DATA", value)
    assert refusal("data", "list").startswith("posenc: POSENC_DATA = ")


def test_fields_of_configs(tmp_path):
    with pytest.raises(PathError, match=f"^init_from = {NOBODY}: {NO_HOME}$"):
        run(dataclasses.replace(CONFIG, init_from=NOBODY), tmp_path / "new")
    assert not (tmp_path / "new").exists()

    with pytest.raises(PathError, match=re.escape(f"data.tokenizer = {NOBODY}.json: {NO_HOME}")):
        Data(tokenizer=f"{NOBODY}.json")


@pytest.mark.parametrize("field", ["label", "table", "note"])
def test_texts_that_no_file_keeps_are_refused_by_configs(field):
    with pytest.raises(ValueError, match=f"Run.{field} = 'a.udcff' has half a character, and no file could keep it"):
        dataclasses.replace(CONFIG, **{field: "a\udcff"})


@pytest.mark.parametrize("text", ["rope(base=0x1for)", "rope(base='\\d')", "rope(base=1 is 1)"])
def test_python_says_nothing_beside_a_refusal(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"RoPE|rope"):
            parse(text)
