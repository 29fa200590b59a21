"""What a command must not lose, overwrite or take for something else."""

import pytest

from posenc_jax import golden
from posenc_jax.cli import main

NOPE = """
import dataclasses

from posenc_jax.encodings import PositionalEncoding


@dataclasses.dataclass(frozen=True)
class Nope(PositionalEncoding):
    name = "nope"

    def bias(self, params, geometry):
        return 0 * geometry.relative[:, None]
"""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "rope", "--json", "a.txt", "--markdown", "a.txt"], "--json and --markdown are both a.txt"),
        (["verdict", "alibi", "--directory", "~nosuchuser/x"], "there is no home directory of '~nosuchuser'"),
        (["verdict", "alibi", "--directory", ""], "'' is no path"),
        (["new", "encoding", "nope"], "nope"),
        (["aliases", "own.py:Nope"], "name = 'nope', which is an encoding of posenc_jax"),
        (["list", "rope", "alibi"], "no encoding or task 'alibi'; one word at a time"),
    ],
)
def test_refused_in_one_line(tmp_path, capsys, arguments, message):
    (tmp_path / "own.py").write_text(NOPE)
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == ["own.py"]


def test_a_page_replaces_a_link_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "link.html").symlink_to("notes.txt")
    assert main(["explore", "--output", "link.html"]) == 0
    assert not (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_figures_of_an_earlier_call_are_named(capsys):
    view = ["--view", "bias", "--length", "16", "--d-model", "16", "--output", "shown"]
    assert main(["show", "alibi", *view]) == 0
    assert "other calls" not in capsys.readouterr().err
    assert main(["show", "rope", "--view", "kernel", *view[2:]]) == 0
    assert "shown has figures of other calls too: bias" in capsys.readouterr().err


def test_what_differs_by_layer_is_of_the_first(capsys):
    assert (
        main(["show", "fire/alibi", "--view", "bias", "--length", "16", "--d-model", "16", "--output", "x.html"]) == 0
    )
    assert "fire/alibi, layer 1" in capsys.readouterr().out


def test_golden_values_are_compared_with_something():
    right = golden.row("YaRN")["outputs"]
    with pytest.raises(ValueError, match="nothing to compare with YaRN: give some of"):
        golden.check("YaRN", {})
    with pytest.raises(ValueError, match="tolerance = nan must be a number from 0 up"):
        golden.check("YaRN", {"q": right["q"]}, tolerance=float("nan"))
