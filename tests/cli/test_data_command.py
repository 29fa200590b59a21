"""``posenc data``: what it lists and refuses, with its exit codes; and its help, which answers at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from posenc_jax.cli import main
from posenc_jax.data.corpora import CORPORA
from posenc_jax.data.corpora.store import manifest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("POSENC_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_help_imports_nothing_heavy():
    code = (
        "import sys; from posenc_jax.cli import main\n"
        "codes = [main(['data', '--help']), main(['data', 'add', '--help']), main(['data', 'list'])]\n"
        "print('heavy:', codes, {'jax', 'numpy', 'tensorflow_datasets'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert found.stdout.endswith("heavy: [0, 0, 0] set()\n"), found.stderr
    for word in ("--jsonl", "--rebuild", "--directory"):
        assert word in found.stdout


def test_the_list_has_every_corpus_as_it_is(printed, data):
    text = printed("data", "list")
    assert str(data) in text
    assert text.count("made when it is first read") == len(CORPORA)
    for corpus in CORPORA.values():
        assert f"  {corpus.name} ({corpus.kind}: {', '.join(corpus.columns)})" in text
    manifest("grammar/reports")
    assert f"train 11,074, validation 469, test 457 rows in {data / 'grammar/reports'}" in printed("data", "list")
    damaged = next(data.glob("grammar/reports/**/*test.array_record*"))
    damaged.write_bytes(b"")
    wanted = f"damaged: {damaged} is damaged (its hash is not that of the manifest); remove {data / 'grammar/reports'}"
    assert wanted in printed("data", "list")


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
