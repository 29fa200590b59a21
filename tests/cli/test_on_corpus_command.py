"""``--on CORPUS`` in place of a config file: what it makes is shown, kept, and written by ``posenc new config``."""

from __future__ import annotations

import json
import shlex
import sys

import pytest

from posenc_jax.cli import main
from posenc_jax.cli.session import load_config
from posenc_jax.config import Ablation, Run, config_hash
from posenc_jax.data.tasks import Copying
from posenc_jax.extras import install_command
from posenc_jax.runs import cell
from posenc_jax.runs.files import write_json
from posenc_jax.runs.identity import config_record


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder beside an empty home, with 200 pairs in a file."""
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    pairs = [{"q": f"the {i} is {'odd' if i % 2 else 'even'}", "a": f"{i} ist nicht {i + 1}"} for i in range(200)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    return folder


@pytest.fixture
def notes(here, capsys):
    """With the corpus own/notes."""
    assert main(["data", "add", "notes", "--jsonl", "pairs.jsonl", "--source", "q", "--target", "a"]) == 0
    capsys.readouterr()
    return here


def test_the_command_that_is_printed_finds_a_corpus_elsewhere(here, capsys, monkeypatch):
    pairs = ["--jsonl", "pairs.jsonl", "--source", "q", "--target", "a"]
    assert main(["data", "add", "notes", *pairs, "--directory", "my corpora"]) == 0
    command = capsys.readouterr().out.partition("train on it: ")[2].partition(";")[0]
    variable, *words = shlex.split(command)
    assert words == ["posenc", "train", "--on", "own/notes"]
    assert main(["new", "config", "--on", "own/notes"]) == 2, "it is not among the others"
    monkeypatch.setenv(*variable.split("="))
    assert main(["new", "config", "--on", "own/notes"]) == 0


def test_what_is_trained_is_shown_kept_and_the_config_that_new_writes(notes, capsys, monkeypatch):
    def train(config, directory, **more):
        directory.mkdir(parents=True)
        (directory / "config.json").write_text("{}")
        return []

    monkeypatch.setattr(cell, "run", train)
    assert main(["new", "config", "--on", "own/notes"]) == 0
    assert capsys.readouterr().out == "wrote notes.py: a config: posenc train notes.py\n"
    written = load_config("notes.py", Run, "train")
    assert main(["train", "--on", "own/notes"]) == 0
    shown = capsys.readouterr().out
    (kept,) = (notes / "runs").glob("*/config.py")
    assert kept.parent.name == written.directory_name
    assert written.label == "rope"
    assert shown.startswith(f"{kept.read_text()}\n# estimate, excluding compilation: ")
    assert "of length" in shown.partition("Test examples: 8 ")[2].partition(": a mean of 8 is known to ")[0]
    assert load_config(f"runs/{kept.parent.name}/config.py", Run, "train") == written
    assert main(["train", "--on=own/notes", "--posenc", "alibi", "--directory", str(notes / "other")]) == 0
    assert "    posenc train other/config.py\n" in capsys.readouterr().out
    other = load_config("other/config.py", Run, "train")
    assert other.label == "alibi"
    assert config_hash(other) != config_hash(written)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train --on own/note", "{}: did you mean 'own/notes'? Else posenc data add note ..."),
        ("train --on notes", "there is no corpus 'notes'; did you mean 'own/notes'? the local ones are grammar/en-de"),
        ("train --on notes.txt", "'notes.txt' is a file's name, not a corpus's: `posenc data add NAME"),
        ("train notes.py --on own/notes", "one config file or one corpus comes first"),
        ("train --on own/notes --on own/notes", "--on is given twice"),
        ("ablate --on own/notes --posenc ropee", "--posenc: unknown encoding 'ropee': did you mean 'rope'?"),
        ("ablate --on own/notes --executor slurm", "--on sizes a run to this machine, and --executor slurm trains on"),
        ("train --on own/notes --distributed", "--distributed trains on others: begin with the config that `posenc"),
        ("new config numpy --on own/notes", "numpy is the name of an installed module"),
    ],
)
def test_what_is_refused_is_said_in_a_line(notes, refusal, line, message):
    before = sorted(notes.iterdir())
    assert message.format(notes.parent / "data") in refusal(*line.split())
    assert sorted(notes.iterdir()) == before


def test_a_directory_of_another_run_gets_no_config(notes, capsys):
    (notes / "other").mkdir()
    write_json(notes / "other" / "config.json", config_record(Run(task=Copying())))
    before = sorted((notes / "other").iterdir())
    assert main(["train", "--on", "own/notes", "--directory", "other"]) == 2
    assert "other holds a run with other settings" in capsys.readouterr().err
    assert sorted((notes / "other").iterdir()) == before


@pytest.mark.slow  # trains
def test_two_hundred_pairs_are_trained_and_compared(notes, capsys):
    quick = ["--training.steps", "25", "--seeds", "0"]
    assert main(["train", "--on", "own/notes", *quick]) == 0
    assert "chrF by source tokens" in capsys.readouterr().out
    alone = ["--evaluation.decoded-examples", "0"]
    assert main(["ablate", "--on", "own/notes", "--posenc", "nope", "rope", *quick, *alone]) == 0
    found = load_config("runs/notes/config.py", Ablation, "ablate")
    assert [run.label for run in found.runs] == ["nope", "rope"]
    assert (notes / "runs" / "notes" / "report.html").exists()


def test_a_missing_package_is_named_at_once_and_a_help_does_without(notes, printed, refusal, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    monkeypatch.setattr("posenc_jax.cli.data_add.is_there", lambda module: module != "sentencepiece")
    pairs = ["--jsonl", "pairs.jsonl", "--source", "q", "--target", "a"]
    said = printed("data", "add", "more", *pairs)
    assert said.endswith(f"both need sentencepiece, which is not installed: {install_command('text')}\n")
    assert "needs sentencepiece" in refusal("train", "--on", "own/notes")
    assert main(["train", "--on", "own/notes", "--help"]) == 0
