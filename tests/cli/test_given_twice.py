"""Options that take several values take each once."""

import pytest

from posenc_jax.cli import main


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["show", "rope", "alibi", "rope"], "ENCODING: rope"),
        (["show", "rope", "--view", "kernel", "kernel"], "--view: kernel"),
        (["show", "sinusoidal", "--positions", "1", "2", "01"], "--positions: 1"),
        (["audit", "rope", "rope"], "ENCODING: rope"),
        (["verdict", "nope", "--tables", "copy", "copy"], "--tables: copy"),
        (["verdict", "nope", "--against", "rope", "rope"], "--against: rope"),
        (["merge", "a", "./a", "--output", "c"], "DIR: a"),
        (["data", "prepare", "help/en-de", "help/en-de"], "NAME: help/en-de"),
        (["data", "add", "x", "--text", "a.txt", "b/../a.txt"], "--text: b/../a.txt"),
        (["data", "add", "x", "--jsonl", "a", "--validation", "v", "v"], "--validation: v"),
    ],
)
def test_a_value_is_given_once(tmp_path, monkeypatch, capsys, command, name):
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    assert capsys.readouterr().err == f"posenc: {name} is given twice: name each once\n"
    assert list(tmp_path.iterdir()) == []
