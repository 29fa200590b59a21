"""A table's folder: what was published, and what is expected of ours."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from posenc_jax.files.shapes import Json, Shape, problem
from posenc_jax.refusals.hints import did_you_mean

PUBLISHED, DIRECTIONS, REDUCED, FULL = "published.toml", "directions.toml", "reduced.py", "full.py"
NOT_A_TEST = "not_a_test.toml"
RESULTS, README = "results.json", "README.md"

Where = Literal["beyond", "within"] | int | None
"""Of a table's lengths: those never trained, those of training, a single one, or (None) what its scores are means over:
those never trained, and where there are none those of training.
"""


@dataclasses.dataclass(frozen=True)
class Selection:
    """A selection of our scores: a ``table`` of the ablation, a ``metric`` ("": its own) and lengths."""

    table: str
    metric: str = ""
    where: Where = None


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


def folders(root: Path) -> list[str]:
    """The names of the tables in a folder, sorted."""
    return sorted(path.parent.name for path in root.glob(f"*/{PUBLISHED}"))


def read_folder(root: Path, name: str) -> Folder:
    """A table by its name; ValueError where there is none, or where a file of it is not as it should be."""
    known = folders(root)
    if name not in known:
        hint = did_you_mean(name, known, f"choose among {', '.join(known) or 'none'}")
        raise ValueError(f"there is no table {name!r} in {root}: {hint}")
    path = root / name
    published = _read(path / PUBLISHED, _PUBLISHED)
    expected = _read(path / DIRECTIONS, _DIRECTIONS)
    directions = tuple(
        Direction(_selection(path / DIRECTIONS, row), *_arms(path, row), row["published"], "alike" in row)
        for row in expected["direction"]
    )
    return Folder(
        path=path,
        title=published["title"],
        source=published["source"],
        setting=" ".join(published["setting"].split()),
        columns=tuple(_column(path, row) for row in published["scores"]),
        rule=" ".join(expected["rule"].split()),
        directions=directions,
        untested=_untested(path / NOT_A_TEST, directions),
    )


def _untested(path: Path, directions: tuple[Direction, ...]) -> NotATest | None:
    if not path.exists():
        return None
    row = _read(path, _NOT_A_TEST)
    found = NotATest(**{**row, "arms": tuple(row.get("arms", ()))})
    if not any(map(found.covers, directions)):
        raise ValueError(f"{path}: no direction of {DIRECTIONS} is between its arms, or on its table: mend the names")
    return found


def _arms(path: Path, row: Json) -> tuple[str, str]:
    """The two labels of a direction, which says "better" and "worse" or "alike"."""
    ways = [way for way in (["better", "worse"], ["alike"]) if all(name in row for name in way)]
    if len(ways) != 1 or len({"better", "worse", "alike"} & row.keys()) != len(ways[0]):
        raise ValueError(f"{path / DIRECTIONS}: a direction has either better and worse, or alike: {row}")
    if "alike" not in row:
        return row["better"], row["worse"]
    if len(row["alike"]) != 2:
        raise ValueError(f"{path / DIRECTIONS}: alike = {row['alike']} must be two labels")
    first, second = row["alike"]
    return first, second


_SELECTION: Shape = {"table": str, "metric?": str, "where?": (str, int)}
_COLUMN: Shape = {**_SELECTION, "name": str, "theirs": str, "scale?": float, "values": {str: (float, str)}}
_PUBLISHED: Shape = {"title": str, "source": str, "setting": str, "scores": [_COLUMN]}
_DIRECTION: Shape = {**_SELECTION, "better?": str, "worse?": str, "alike?": [str], "published": str}
_NOT_A_TEST: Shape = {"of?": str, "table?": str, "arms?": [str]}
_DIRECTIONS: Shape = {"rule": str, "direction": [_DIRECTION]}


def _read(path: Path, shape: Shape) -> Json:
    try:
        data = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise ValueError(f"{path} is missing: a table has it") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML ({error}): mend it") from None
    if wrong := problem(data, shape, strict=True):
        raise ValueError(f"{path}: {wrong}")
    return data


def _selection(path: Path, row: Json) -> Selection:
    where: Any = row.get("where")
    if isinstance(where, str) and where not in ("beyond", "within"):
        raise ValueError(
            f"{path}: where = {where!r} must be 'beyond', 'within' or a length, or left out for all unseen"
        )
    return Selection(row["table"], row.get("metric", ""), where)


def _column(path: Path, row: Json) -> Column:
    words = {label: value for label, value in row["values"].items() if isinstance(value, str) and value}
    if words:
        label, value = next(iter(words.items()))
        raise ValueError(f"{path / PUBLISHED}: {label} = {value!r} must be a number, or '' where none is known")
    values = {label: None if value == "" else float(value) for label, value in row["values"].items()}
    return Column(row["name"], _selection(path / PUBLISHED, row), row["theirs"], float(row.get("scale", 1)), values)
