"""``posenc data``: what it prepares, lists and refuses, with its exit codes; and its help, which answers at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from help_pages import write_help

from posenc_jax.cli import main
from posenc_jax.data.corpora import CORPORA

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_help_imports_nothing_heavy():
    code = (
        "import sys; from posenc_jax.cli import main\n"
        "codes = [main(['data', '--help']), main(['data', 'prepare', '--help']), main(['data', 'list'])]\n"
        "print('heavy:', codes, {'jax', 'numpy', 'tensorflow_datasets'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert found.stdout.endswith("heavy: [0, 0, 0] set()\n"), found.stderr
    for word in ("--from-dir", "--strict", "--rebuild", "--directory", "dpkg-deb -x", "Translation-de"):
        assert word in found.stdout


def test_the_list_has_every_corpus_with_what_it_needs(printed, data):
    text = printed("data", "list")
    assert str(data) in text
    assert text.count("not prepared") == len(CORPORA)
    for corpus in CORPORA.values():
        assert f"  {corpus.name} ({corpus.kind}: {', '.join(corpus.columns)})" in text
        origin = ", ".join(corpus.packages + corpus.indexes) or "a grammar of this package: needs no network"
        assert f"from {origin}\n" in text
        assert f"licence: {corpus.licence}\n" in text


def test_prepare_from_a_folder_then_list_damage_and_rebuild(capsys, printed, refusal, tmp_path, data):
    folder = str(write_help(tmp_path / "unpacked"))
    command = ["data", "prepare", "help/en-de", "help/modules", "--from-dir", folder]
    assert main([*command, "--strict"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "posenc: help/en-de: the text has sha256" in err.splitlines()[-1]
    assert main(command) == 0
    err = capsys.readouterr().err
    assert "s] help/en-de is prepared in" in err
    assert "another revision of a package" in err
    found = json.loads((data / "help/modules/manifest.json").read_text())
    assert found["labels"] == ["scalc", "shared", "swriter"]
    assert sum(split["count"] for split in found["splits"].values()) == 60
    assert main(["data", "prepare", "help/en-de"]) == 0  # there and whole: no package is needed
    assert "is prepared in" in capsys.readouterr().err
    damaged = next(data.glob("help/en-de/**/*test.array_record*"))
    damaged.write_bytes(b"")
    listed = printed("data", "list")
    assert f"damaged: {damaged}" in listed
    assert f"rows in {data / 'help/modules'}" in listed
    assert f"posenc: {damaged} is damaged" in refusal("data", "prepare", "help/en-de")
    assert main([*command, "--rebuild"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prepare"], "data prepare: the following arguments are required: NAME; `posenc data prepare --help`"),
        ([], "data: the following arguments are required: prepare|add|list"),
        (["fetch"], "invalid choice: 'fetch'"),
        (["prepare", "help/modules", "help/en-d"], "there is no corpus 'help/en-d'; did you mean 'help/en-de'?"),
        (["prepare", "help/en-de", "--from-dir", "nowhere"], "nowhere is no folder: from_dir names one"),
        (["prepare", "help/en-de", "--directory", "/dev/null/x"], "choose another folder (directory, or the variable"),
    ],
)
def test_refused_in_one_line(arguments, message, refusal, data):
    assert message in refusal("data", *arguments)
    assert not data.exists()


@pytest.mark.parametrize("count", [3, 200])
def test_the_list_shortens_many_files(capsys, tmp_path, monkeypatch, count):
    monkeypatch.chdir(tmp_path)
    files = [f"{i:03}.txt" for i in range(count)]
    for i, name in enumerate(files):
        Path(name).write_text(f"text {i}\n")
    assert main(["data", "add", "many", "--text", *files]) == 0
    capsys.readouterr()
    assert main(["data", "list"]) == 0
    wanted = "000.txt, 001.txt, 002.txt" if count == 3 else "000.txt, 001.txt, ... (200 files)"
    assert f"      from {wanted}\n" in capsys.readouterr().out
