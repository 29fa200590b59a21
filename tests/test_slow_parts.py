"""`scripts/test --slow-part`: every slow test is in one part, beside the others of its file."""

from pathlib import Path
from types import SimpleNamespace

from slow_parts import PARTS, seconds_in, slow_part


def item(file, *marks):
    return SimpleNamespace(path=Path(file), get_closest_marker=dict.fromkeys(marks, True).get)


def test_every_slow_file_is_in_one_part_and_long_ones_are_apart():
    items = [item(f"long {n}.py", "slow") for n in range(3)]
    items += [item(f"{n}.py", mark) for n in range(20) for mark in ("slow", "gpu", "other")]
    items += [item("quick.py"), item("quick.py", "other")]
    measured = {f"long {n}.py": 180 for n in range(3)}
    parts = [slow_part(items, number, measured) for number in range(PARTS)]
    assert sorted(path for part in parts for path in part) == sorted({i.path for i in items} - {Path("quick.py")})
    assert max(sum("long" in path.name for path in part) for part in parts) == 1
    assert max(map(len, parts)) - min(map(len, parts)) <= 4
    assert parts == [slow_part(items[::-1], number, measured) for number in range(PARTS)]


def test_seconds_are_read_from_what_pytest_prints():
    log = "626.06s setup    tests/a.py::test_b\n  3.50s call     tests/a.py::test_c[d]\n0.10s call tests/e/f.py::g\n"
    assert seconds_in(log) == {"tests/a.py": 630, "tests/e/f.py": 1}
