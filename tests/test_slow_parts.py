"""`scripts/test --slow-part`: every slow test is in one part, beside the others of its file."""

from pathlib import Path
from types import SimpleNamespace

from slow_parts import PARTS, slow_part


def item(file, *marks, timeout=None):
    found = dict.fromkeys(marks, SimpleNamespace(args=())) | (
        {"timeout": SimpleNamespace(args=(timeout,))} if timeout else {}
    )
    return SimpleNamespace(path=Path(file), get_closest_marker=found.get)


def test_every_slow_file_is_in_one_part_and_long_ones_are_apart():
    items = [item(f"long {n}.py", "slow", timeout=1800) for n in range(3)]
    items += [item(f"{n}.py", mark) for n in range(20) for mark in ("slow", "gpu", "other")]
    items += [item("quick.py"), item("quick.py", "other")]
    parts = [slow_part(items, number) for number in range(PARTS)]
    assert sorted(path for part in parts for path in part) == sorted({i.path for i in items} - {Path("quick.py")})
    assert max(sum("long" in path.name for path in part) for part in parts) == 1
    assert max(map(len, parts)) - min(map(len, parts)) <= 3
    assert parts == [slow_part(items[::-1], number) for number in range(PARTS)]
