"""``posenc list`` and ``posenc --help``."""

from posenc_jax.cli import COMMANDS, main
from posenc_jax.data.tasks import TASKS
from posenc_jax.encodings import ENCODINGS


def test_all_encodings_and_tasks_are_listed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    entries = [line.strip() for line in lines if line.startswith("  ") and not line.startswith("    ")]
    assert entries == [*ENCODINGS, *TASKS]
    assert max(map(len, lines)) <= 100
    assert "::" not in "".join(lines)


def test_one_in_full(capsys):
    assert main(["list", "rope"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("rope(base=10000.0, layout='interleaved', rotary_dim=None, scaling=None)\n")
    assert ENCODINGS["rope"].__doc__.splitlines()[0] in text
    assert "  layout: 'interleaved' or 'half'\n" in text
    assert "arXiv:2104.09864" in text


def test_one_kind(capsys):
    assert main(["list", "tasks"]) == 0
    text = capsys.readouterr().out
    assert "even_pairs" in text
    assert "sinusoidal" not in text


def test_help(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)
    assert max(map(len, text.splitlines())) <= 100
    for name in COMMANDS:
        assert main([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"usage: posenc {name} ")
