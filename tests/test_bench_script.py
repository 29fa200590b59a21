"""The script of benchmarks: what it prints, keeps and compares."""

import errno
import importlib
import json
from pathlib import Path

import pytest
from benchmarks import processes, results
from script_modules import loaded

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.fixture
def script():
    return loaded(SCRIPTS / "bench")


def test_what_was_kept_of_other_parts_stays(tmp_path, monkeypatch):
    """Each part has for each processor the date, the machine and the versions of its own; a save that fails leaves the
    file as it was.
    """
    from posenc_jax.files import atomic

    def table(number):
        return results.Table("t", "row", {"column": "{:.1f}"}, {"a": (number,)})

    file = tmp_path / "kept.json"
    results.save(file, {"loop": [table(1.0)], "tables": [table(2.0)]})
    old = json.loads(file.read_text())
    here = results.processor()
    for part in old["parts"].values():
        part[here] |= {"date": "2020-01-01"}
        part["another"] = part[here] | {"machine": {"processor": "another", "cores": 9, "system": "s"}}
    file.write_text(json.dumps(old))
    results.save(file, {"tables": [table(3.0)]})
    parts = results.read(file)
    assert parts["loop"] == old["parts"]["loop"]
    assert parts["tables"]["another"] == old["parts"]["tables"]["another"]
    assert parts["tables"][here]["tables"][0]["rows"] == {"a": [3.0]}
    assert parts["tables"][here]["date"] > "2020-01-01"
    assert parts["tables"][here]["machine"]["processor"] == here

    def fails(*_, **__):
        raise OSError(errno.ENOSPC, "no room")

    before = file.read_text()
    monkeypatch.setattr(atomic.os, "replace", fails)
    with pytest.raises(OSError, match="no room"):
        results.save(file, {"loop": [table(4.0)]})
    assert file.read_text() == before


def test_the_script_prints_keeps_and_compares(script, monkeypatch, capsys, tmp_path):
    """What was not measured then has a dash; nothing in common is an error, at once."""

    def table(title, *rows):
        return results.Table(title, "row", {"ms": "{:.1f}"}, {row: (2.0,) for row in rows})

    file = tmp_path / "kept.json"
    monkeypatch.setattr(results, "machine", lambda: {"processor": "old chip", "cores": 2})
    monkeypatch.setattr(script, "tables_of", lambda part, rounds: iter([table("common", "a|b", "zero")]))
    script.main(["long", "--save", str(file)])
    assert "## common\n\n| row | ms |\n|---|---|\n| a\\|b | 2.0 |\n| zero | 2.0 |\n" in capsys.readouterr().out
    kept = json.loads(file.read_text())
    kept["parts"]["long"]["old chip"]["date"] = "2020-01-01"
    kept["parts"]["long"]["old chip"]["tables"][0]["rows"]["zero"] = [0.0]
    file.write_text(json.dumps(kept))
    monkeypatch.setattr(results, "machine", lambda: {"processor": "new chip", "cores": 3})
    measured = {"long": [table("common", "a|b", "c", "zero")], "study": [table("t", "a")]}
    monkeypatch.setattr(script, "tables_of", lambda part, rounds: iter(measured[part]))
    script.main(["long", "study", "--compare", str(file)])
    out = capsys.readouterr().out
    assert "\nNow: 3 cores of new chip.\nlong, then: 2020-01-01, 2 cores of old chip.\n" in out
    assert (
        "| long | a\\|b | ms | 2 | 2 | 1.00 |\n| long | c | ms | - | 2 | - |\n| long | zero | ms | 0 | 2 | - |\n" in out
    )
    assert out.endswith("| study | a | ms | - | 2 | - |\n")
    with pytest.raises(SystemExit):
        script.main(["study", "--compare", str(file)])
    assert f"--compare {file} has none of study: it has long" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", '{"date": "2020-01-01", "machine": {}, "parts": {"loop": []}}'])
@pytest.mark.parametrize("option", ["--save", "--compare"])
def test_a_file_of_something_else_is_refused_at_once(script, capsys, tmp_path, option, content):
    file = tmp_path / "kept.json"
    file.write_text(content)
    with pytest.raises(SystemExit):
        script.main(["long", option, str(file)])
    assert f"{option} {file} is no file that --save wrote" in capsys.readouterr().err
    assert file.read_text() == content


def test_a_process_that_fails_is_named():
    with pytest.raises(SystemExit, match=r"a benchmark process ended: .*nowhere\.milliseconds"):
        processes.Process("nowhere.milliseconds", {"size": 3})


def test_every_part_is_known_to_the_script(script, monkeypatch):
    """All parts stand behind a name, with their full sizes and one process each for what is measured in turns."""
    reached = []
    for name in script.PARTS:
        module = importlib.import_module(f"benchmarks.{name}")
        monkeypatch.setattr(
            module, name, lambda *_, name=name: reached.append(name) or iter([results.Table(name, "", {}, {})])
        )
    script.main([])
    assert reached == list(script.PARTS)
