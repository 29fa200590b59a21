"""Small real things that encodings of attributes are drawn with: a graph, a tree, a table, a page, cars, cameras."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from posenc_jax.encodings import Slot, parse
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.encodings.graphs import edge_paths, laplacian_eigenvectors, random_walks, shortest_paths, tree_paths


@dataclasses.dataclass(frozen=True, eq=False)
class DrawnExample:
    """Tokens with what they and their pairs bring.

    Attributes:
      about: what it is, for captions.
      names: of the S tokens.
      attributes: ``[S, A]``, pairs: ``[S, S, A]``, or None.
    """

    about: str
    names: tuple[str, ...]
    attributes: np.ndarray | None = None
    pairs: np.ndarray | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """Those of a `Sequence` of one row."""
        found: dict[str, Any] = {"segment_ids": np.ones((1, len(self.names)), np.int32)}
        found |= {} if self.attributes is None else {"attributes": self.attributes[None]}
        return found | ({} if self.pairs is None else {"pairs": self.pairs[None]})


# Zachary 1977, "An information flow model for conflict and fission in small groups": the friends of each of 34 members
# with a higher number, counted from 1.
_FRIENDS = {
    1: (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32),
    2: (3, 4, 8, 14, 18, 20, 22, 31),
    3: (4, 8, 9, 10, 14, 28, 29, 33),
    4: (8, 13, 14),
    5: (7, 11),
    6: (7, 11, 17),
    7: (17,),
    9: (31, 33, 34),
    10: (34,),
    14: (34,),
    15: (33, 34),
    16: (33, 34),
    19: (33, 34),
    20: (34,),
    21: (33, 34),
    23: (33, 34),
    24: (26, 28, 30, 33, 34),
    25: (26, 28, 32),
    26: (32,),
    27: (30, 34),
    28: (34,),
    29: (32, 34),
    30: (33, 34),
    31: (33, 34),
    32: (33, 34),
    33: (34,),
}
# Who stayed with the instructor (member 1) when the club split; the others went with the president (member 34).
_STAYED = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 17, 18, 20, 22)
_MEMBERS = (*_STAYED, *(member for member in range(1, 35) if member not in _STAYED))
_CLUB = (
    "Zachary's karate club: 34 members and their 78 friendships; the first 17 stayed with member 1 when the club "
    "split, the others went with member 34."
)


def _club() -> np.ndarray:
    """``[34, 34]``: the club's adjacency, members in the order of `_MEMBERS`."""
    place = {member: i for i, member in enumerate(_MEMBERS)}
    found = np.zeros((len(place), len(place)))
    for member, others in _FRIENDS.items():
        for other in others:
            found[place[member], place[other]] = found[place[other], place[member]] = 1
    return found


def _of_club(**arrays: np.ndarray) -> DrawnExample:
    return DrawnExample(_CLUB, tuple(map(str, _MEMBERS)), **arrays)


def _degrees() -> DrawnExample:
    degrees = _club().sum(axis=1).astype(np.int32)
    return _of_club(attributes=np.stack([degrees, degrees], axis=1))


def _eigenvectors() -> DrawnExample:
    return _of_club(attributes=laplacian_eigenvectors(_club(), 8))


def _returns() -> DrawnExample:
    return _of_club(attributes=np.einsum("iik->ik", random_walks(_club(), 9))[:, 1:])


def _distances() -> DrawnExample:
    return _of_club(pairs=shortest_paths(_club(), unreachable=511))


def _edges() -> DrawnExample:
    """Two features of a friendship: it is within a half of the club, or between the two."""
    stayed = np.array([member in _STAYED for member in _MEMBERS])
    within = (stayed[:, None] == stayed[None]).astype(float)
    paths = edge_paths(_club(), np.stack([within, 1 - within], axis=-1), most=3)
    return _of_club(pairs=np.concatenate([shortest_paths(_club(), unreachable=511), paths], axis=-1))


def _walks() -> DrawnExample:
    walks = random_walks(_club(), 8)
    return _of_club(attributes=np.einsum("iik->ik", walks), pairs=walks)


def _tree() -> DrawnExample:
    names = ("=", "x", "*", "+", "a", "b", "-", "c", "2")
    paths = tree_paths([-1, 0, 0, 2, 3, 3, 2, 6, 6], depth=8)
    return DrawnExample("The tree of x = (a + b) * (c - 2), read from the root, left before right.", names, paths)


def _table() -> DrawnExample:
    # Of each token its segment, column, row, answer, rank, inverse rank and relation, as in TaPas.
    question = [(name, (0,) * 7) for name in ("which", "city", "is", "largest", "?")]
    head = [("city", (1, 1, 0, 0, 0, 0, 0)), ("millions", (1, 2, 0, 0, 0, 0, 0))]
    cells = [("Rome", "2.8", 3), ("Oslo", "0.7", 1), ("Paris", "2.1", 2)]
    body = [
        token
        for row, (city, millions, rank) in enumerate(cells, 1)
        for token in ((city, (1, 1, row, 0, 0, 0, 0)), (millions, (1, 2, row, 0, rank, 4 - rank, 0)))
    ]
    names, attributes = zip(*question, *head, *body, strict=True)
    return DrawnExample(
        "The question “which city is largest?” and a table of three cities, row by row.", names, np.array(attributes)
    )


def _page() -> DrawnExample:
    # Left, top, right and bottom of each word, in thousandths of the page.
    words = {
        "Invoice": (60, 40, 210, 70),
        "4711": (220, 40, 310, 70),
        "Paper": (60, 120, 150, 145),
        "2": (420, 120, 440, 145),
        "4.50": (520, 120, 590, 145),
        "9.00": (680, 120, 750, 145),
        "Ink": (60, 150, 110, 175),
        "1": (420, 150, 440, 175),
        "8.00": (520, 150, 590, 175),
        "8.00 ": (680, 150, 750, 175),
        "Total": (520, 200, 600, 225),
        "17.00": (670, 200, 750, 225),
    }
    return DrawnExample(
        "An invoice of four lines, word by word; boxes in thousandths of the page.",
        tuple(map(str.strip, words)),
        np.array(list(words.values()), np.int32),
    )


def _signal(seconds: float, unit: str) -> DrawnExample:
    """Onsets of nine marks: a dash is as long as three dots, and so are the pauses between letters; within them one."""
    onsets = np.array([0, 2, 4, 8, 12, 16, 22, 24, 26])
    return DrawnExample(
        f"SOS in Morse code: the onset of each of its nine marks, in {unit}.",
        tuple("···———···"),
        onsets[:, None] * seconds,
    )


def _headings() -> DrawnExample:
    names = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
    headings = np.arange(8)[:, None] * np.pi / 4
    return DrawnExample("Cars on a roundabout: the heading of each of eight, in radians.", names, headings)


def _cameras() -> DrawnExample:
    names, attributes = [], []
    for camera in range(4):
        cos, sin = np.cos(camera * np.pi / 2), np.sin(camera * np.pi / 2)
        projection = [[cos, 0, sin, 0], [0, 1, 0, 0], [-sin, 0, cos, 2]]
        for row, column in np.ndindex(2, 2):
            names.append(f"{'ABCD'[camera]} {row},{column}")
            attributes.append(np.append(projection, [column, row]))
    about = "Four cameras, A to D, a quarter turn apart around a thing at a distance of 2; each sees 2 x 2 tokens."
    return DrawnExample(about, tuple(names), np.array(attributes))


_EXAMPLES: dict[str, Callable[[], DrawnExample]] = {
    "Boxes on a page (LayoutLM)": _page,
    "Tables of seven attributes (TaPas)": _table,
    "Centrality encoding (Graphormer)": _degrees,
    "Laplacian eigenvectors": _eigenvectors,
    "Random-walk diagonals (RWSE)": _returns,
    "Tree positions": _tree,
    "RoPE at time stamps (RoTHP)": lambda: _signal(1.0, "dots"),
    "RoPE at time stamps (POYO)": lambda: _signal(0.06, "seconds at 20 words a minute"),
    "Directional RoPE (DRoPE)": _headings,
    "Cameras as positions (PRoPE)": _cameras,
    "Spatial encoding (Graphormer)": _distances,
    "Edge encoding (Graphormer)": _edges,
    "Random-walk probabilities (RRWP)": _walks,
}
"""By the row of the catalogue whose attributes they are."""


def example_of(slot: Slot) -> DrawnExample | None:
    """The example of the row of the catalogue that a slot is; None for rows without one, and for other slots."""
    for rows in CATALOGUE.values():
        for row in rows:
            if row.name in _EXAMPLES and parse(row.spec) == slot:
                return _EXAMPLES[row.name]()
    return None
