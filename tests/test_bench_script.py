"""The script of benchmarks: what it prints, keeps and compares."""

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


def test_the_script_prints_keeps_and_compares(script, capsys, tmp_path):
    kept = tmp_path / "kept.json"
    script.main(["precision", "--save", str(kept)])
    lines = capsys.readouterr().out.splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]
    assert [int(row[0]) for row in table] == [10**3, 10**6, 2**31 - 1]
    for _, constant, traced, plain in table:
        assert max(float(constant), float(traced)) < 5e-7 < float(plain)
    record = json.loads(kept.read_text())
    (part,) = record["parts"].values()
    assert part["machine"]["processor"]
    assert {"jax", "device_kind"} <= part["environment"].keys()
    (of_part,) = part["tables"]
    of_part["rows"]["1000"][2] *= 2
    kept.write_text(json.dumps(record))
    script.main(["precision", "--compare", str(kept)])
    compared = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| precision | ")]
    assert len(compared) == 9
    assert [line.split("|")[-2].strip() for line in compared[:4]] == ["1.00", "1.00", "0.50", "1.00"]


def test_what_was_kept_of_other_parts_stays(tmp_path, monkeypatch):
    """Each part has the date, the machine and the versions of its own; a save that fails leaves the file as it was."""
    from posenc_jax.files import atomic

    def table(number):
        return results.Table("t", "row", {"column": "{:.1f}"}, {"a": (number,)})

    file = tmp_path / "kept.json"
    results.save(file, {"loop": [table(1.0)], "tables": [table(2.0)]})
    old = json.loads(file.read_text())
    for part in old["parts"].values():
        part |= {"date": "2020-01-01", "machine": {"processor": "another", "cores": 9, "system": "s"}}
    file.write_text(json.dumps(old))
    results.save(file, {"tables": [table(3.0)]})
    parts = results.read(file)
    assert parts["loop"] == old["parts"]["loop"]
    assert parts["tables"]["tables"][0]["rows"] == {"a": [3.0]}
    assert parts["tables"]["date"] > "2020-01-01"
    assert parts["tables"]["machine"]["processor"] == results.processor()

    def fails(*_, **__):
        raise OSError("no room")

    before = file.read_text()
    monkeypatch.setattr(atomic.os, "replace", fails)
    with pytest.raises(OSError, match="no room"):
        results.save(file, {"loop": [table(4.0)]})
    assert file.read_text() == before


def test_what_has_no_counterpart_is_said(script, monkeypatch, capsys, tmp_path):
    """Parts, tables and rows, and both machines; nothing in common is an error, at once where no part is there."""

    def table(title, *rows):
        return results.Table(title, "row", {"ms": "{:.1f}"}, {row: (2.0,) for row in rows})

    file = tmp_path / "kept.json"
    monkeypatch.setattr(results, "machine", lambda: {"processor": "old chip", "cores": 2})
    results.save(file, {"loop": [table("common", "a", "zero"), table("old", "x")]})
    kept = json.loads(file.read_text())
    kept["parts"]["loop"]["date"] = "2020-01-01"
    kept["parts"]["loop"]["tables"][0]["rows"]["zero"] = [0.0]
    file.write_text(json.dumps(kept))
    monkeypatch.setattr(results, "machine", lambda: {"processor": "new chip", "cores": 3})
    measured = {"loop": [table("common", "a", "b", "zero"), table("new", "x")], "tables": [table("t", "a")]}
    monkeypatch.setattr(script, "tables_of", lambda part, rounds: iter(measured[part]))
    script.main(["loop", "tables", "--compare", str(file)])
    out = capsys.readouterr().out
    assert "\nNow: 3 cores of new chip.\nloop, then: 2020-01-01, 2 cores of old chip.\n" in out
    assert "| loop | a | ms | 2 | 2 | 1.00 |\n| loop | zero | ms | 0 | 2 | - |\n" in out
    assert out.endswith("\n- tables: the whole part\n- loop, common: b\n- loop, new: the whole table\n")
    measured["loop"] = [table("new", "x")]
    with pytest.raises(SystemExit, match=f"{file} has none of these numbers"):
        script.main(["loop", "--compare", str(file)])
    assert "| part |" not in capsys.readouterr().out
    with pytest.raises(SystemExit):
        script.main(["tables", "--compare", str(file)])
    assert f"--compare {file} has none of tables: it has loop" in capsys.readouterr().err


OF_AN_OLDER_SCRIPT = '{"date": "2020-01-01", "machine": {}, "parts": {"loop": []}}'


@pytest.mark.parametrize("content", ["{", "[]", OF_AN_OLDER_SCRIPT])
def test_a_file_of_something_else_is_not_replaced(script, capsys, tmp_path, content):
    file = tmp_path / "kept.json"
    file.write_text(content)
    with pytest.raises(SystemExit):
        script.main(["precision", "--save", str(file)])
    assert f"--save {file} is no file that --save wrote" in capsys.readouterr().err
    assert file.read_text() == content


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", OF_AN_OLDER_SCRIPT])
def test_what_cannot_be_compared_with_is_refused_at_once(script, capsys, tmp_path, content):
    file = tmp_path / "kept.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SystemExit):
        script.main(["precision", "--compare", str(file)])
    assert f"--compare {file} is no file that --save wrote" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        script.main(["throughputs"])
    with pytest.raises(SystemExit):
        script.main(["precision", "--save", str(tmp_path / "nowhere" / "kept.json")])
    assert "there is no folder" in capsys.readouterr().err


def test_a_process_that_fails_is_named():
    with pytest.raises(SystemExit, match=r"a benchmark process ended: .*nowhere\.milliseconds"):
        processes.Process("nowhere.milliseconds", {"size": 3})


def test_every_part_is_known_to_the_script(script, monkeypatch):
    """All parts stand behind a name, with their full sizes and one process each for what is measured in turns."""
    of_modules = {"throughput": "throughput encodings gradients", "compilation": "compilation programs"}
    of_modules["profiling"] = "profile"
    of_modules |= {name: name for name in ("tables", "precision", "decoding", "study", "loop", "padding", "finished")}
    of_modules |= {name: name for name in ("importing", "long", "commands")}
    parts = [(module, name) for module, names in of_modules.items() for name in names.split()]
    reached = []
    for of_module, name in parts:
        module = importlib.import_module(f"benchmarks.{of_module}")
        monkeypatch.setattr(
            module, name, lambda *_, name=name: reached.append(name) or iter([results.Table(name, "", {}, {})])
        )
    script.main([])
    script.main(["padding"])
    assert sorted(reached) == sorted(name for _, name in parts)
