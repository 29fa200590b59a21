"""The folder of a published table: what was published, and what is expected of ours."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.tables.results import Selection

ROOT = Path(__file__).parent
PUBLISHED, DIRECTIONS, REDUCED, FULL = "published.toml", "directions.toml", "reduced.py", "full.py"
NOT_A_TEST = "not_a_test.toml"
RESULTS, README = "results.json", "README.md"


@dataclasses.dataclass(frozen=True)
class Column:
    """One column of a published table.

    Attributes:
      name: its heading.
      selection: our scores that stand beside it.
      theirs: what their numbers are.
      scale: what makes them our unit.
      values: label -> their number as it is printed; None: the source at hand does not give it.
    """

    name: str
    selection: Selection
    theirs: str
    scale: float
    values: Mapping[str, float | None]


@dataclasses.dataclass(frozen=True)
class Direction:
    """One expectation: the scores of label ``better`` are better than those of ``worse``, or, where they are ``alike``,
    no difference between the two is seen. published: why.
    """

    selection: Selection
    better: str
    worse: str
    published: str
    alike: bool = False

    def __str__(self) -> str:
        """The direction in words."""
        return f"{self.better} {'like' if self.alike else 'better than'} {self.worse}"


@dataclasses.dataclass(frozen=True)
class NotATest:
    """The part of a table that our size does not test, as its results showed.

    Attributes:
      of: its words, as the sentence "the table is not a test" of the README goes on; "": all of the table.
      table: the only one of its tables that is meant; "": all.
      arms: those between which alone it is no test; none: all.
    """

    of: str = ""
    table: str = ""
    arms: tuple[str, ...] = ()

    def covers(self, direction: Direction) -> bool:
        """True of a direction that is about what is not tested."""
        if self.table and direction.selection.table != self.table:
            return False
        return not self.arms or {direction.better, direction.worse} <= {*self.arms}


@dataclasses.dataclass(frozen=True)
class Folder:
    """A table. ``rule``: how the directions were chosen among all that could be; ``untested``: what our size does not
    test of it, if anything.
    """

    path: Path
    title: str
    source: str
    setting: str
    columns: tuple[Column, ...]
    rule: str
    directions: tuple[Direction, ...]
    untested: NotATest | None = None

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name

    def tests(self, direction: Direction) -> bool:
        """True if our size tests a direction of the table."""
        return self.untested is None or not self.untested.covers(direction)

    @property
    def tested(self) -> str:
        """How many directions our size tests, such as ``; this size tests 2 of them``; "" where it tests all."""
        tested = sum(map(self.tests, self.directions))
        return "" if tested == len(self.directions) else f"; this size tests {tested or 'none'} of them"


def folders(root: Path = ROOT) -> list[str]:
    """The names of the tables in a folder, sorted."""
    return sorted(path.parent.name for path in root.glob(f"*/{PUBLISHED}"))


def read_folder(path: Path) -> Folder:
    """A table; ValueError naming a file of it that lacks something."""
    published, columns = _read(path / PUBLISHED, ("title", "source", "setting", "scores"), _column)
    expected, directions = _read(path / DIRECTIONS, ("rule", "direction"), _direction)
    untested = path / NOT_A_TEST
    return Folder(
        path=path,
        title=published["title"],
        source=published["source"],
        setting=" ".join(published["setting"].split()),
        columns=columns,
        rule=" ".join(expected["rule"].split()),
        directions=directions,
        untested=NotATest(**_listed(tomllib.loads(untested.read_text()))) if untested.exists() else None,
    )


def _read(path: Path, names: tuple[str, ...], row_of: Any) -> tuple[dict[str, Any], tuple[Any, ...]]:
    """A file and its rows, which are under the last of its ``names``."""
    try:
        data = tomllib.loads(path.read_text())
        return data, tuple(map(row_of, [data[name] for name in names][-1]))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: {f'it lacks {error}' if isinstance(error, KeyError) else error}") from None


def _listed(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


def _selection(row: dict[str, Any]) -> Selection:
    where = row.get("where")
    if isinstance(where, str) and where not in ("beyond", "within"):
        raise ValueError(f"where = {where!r} must be 'beyond', 'within' or a length, or left out for all unseen")
    return Selection(row["table"], row.get("metric", ""), where)


def _direction(row: dict[str, Any]) -> Direction:
    better, worse = row["alike"] if "alike" in row else (row["better"], row["worse"])
    return Direction(_selection(row), better, worse, row["published"], "alike" in row)


def _column(row: dict[str, Any]) -> Column:
    values = {label: None if value == "" else float(value) for label, value in row["values"].items()}
    return Column(row["name"], _selection(row), row["theirs"], float(row.get("scale", 1)), values)
