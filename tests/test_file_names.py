"""Names as file names: inside their folder, short, each its own."""

import os
from pathlib import Path

import pytest

from posenc_jax.config import Run
from posenc_jax.data.tasks.copying import Copying
from posenc_jax.files.names import file_name

NAMES = ["", ".", "..", "/", "../../escaped", "/etc/passwd", "a/b", "a\\b", "C:\\x", "-rf", ".hidden", "end."]
NAMES += ["~", "a\0b", "Demo", "DEMO", "d\u00e9mo", "de\u0301mo", "a b", "a  b", "a--b", "\n", "\ud800", "\u202etxt"]
NAMES += ["x" * 81, "x" * 5000, "\u65e5\u672c\u8a9e" * 40, "help en-de", "position_of, d_model 8", "<script>", "con "]


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:20] for name in NAMES])
def test_any_name_stays_in_its_folder_and_is_short(name):
    found = file_name(name)
    assert os.path.normpath(Path("runs") / found) == f"runs/{found}"
    assert 0 < len(found.encode()) <= 80
    assert found == found.lower()
    assert found[0] not in ".-"
    assert found[-1] not in ".-"
    assert found.isprintable()
    assert not set(found) & set("/\\ :*?\"<>|'$`;&")


def test_different_names_have_different_files_where_cases_are_one():
    names = [*NAMES, "demo", "a-b", "escaped", "help-en-de"]
    assert len({file_name(name).casefold() for name in names if name != "a--b"}) == len(names) - 1
    assert file_name("a--b") == "a--b"


@pytest.mark.parametrize("name", ["demo", "even_pairs", "translation-full", "v1.2", "x" * 80, "0"])
def test_a_name_that_needs_no_change_has_none(name):
    assert file_name(name) == name


def test_what_tells_names_apart_may_be_given():
    assert file_name("A b", "0123") == "a-b-0123"
    assert file_name("demo", "0123") == "demo-0123"
    assert file_name("", "0123") == "0123"
    assert len(file_name("x" * 300, "0123")) == 80


def test_cells_lie_where_they_lay():
    """Names of directories as the versions before wrote them, hash apart."""
    names = {
        ("even_pairs", "randomized sinusoidal"): "even-pairs-randomized-sinusoidal",
        ("rsc", "randomized(max_position=2048)|rope(base=5e5)"): "rsc-randomized-max-position-2048-rope-ba",
        ("position_of, d_model 8", "base 1e2"): "position-of-d-model-8-base-1e2",
        ("A table / of mine", "(x)"): "a-table-of-mine-x",
        ("Gr\u00f6\u00dfe", "RoPE"): "gr\u00f6\u00dfe-rope",
    }
    for (table, label), words in names.items():
        assert Run(task=Copying(), table=table, label=label).directory_name[:-9] == words
