"""One colour, dash and marker per encoding, the same in every figure of a report; those of `COMMON` on every page.

The colours are those of Okabe and Ito's colour-blind-safe palette without its yellow, which is unreadable on white.
They repeat after seven encodings with another dash; the markers repeat after nine.
"""

import collections
import dataclasses
import itertools
import re

from posenc_jax.drawing.plain import plain

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon", "star", "x")

COMMON = ("rope", "nope", "sinusoidal", "alibi", "t5", "learned", "fire", "kerple", "shaw", "transformerxl")
"""The encodings that look the same on every page, by their names in small letters alone."""

INK, MUTED, GRID, SHADE, PAPER = "#1f2933", "#5f6b7a", "#e4e7eb", "#eef1f5", "#ffffff"
DARK = {INK: "#e3e7ec", MUTED: "#9aa6b4", GRID: "#313a45", SHADE: "#232a33", PAPER: "#161b21", COLORS[-1]: "#cfd6de"}
"""What stands for these where the reader has asked for dark pages; page.css says the same."""


@dataclasses.dataclass(frozen=True)
class Style:
    """The colour, dash, marker and name of one encoding in figures (plotly's names for dash and marker)."""

    name: str
    color: str
    dash: str
    marker: str


FLOOR = Style("", MUTED, "dash", "circle")
"""The line of what an answer gets that does not look at the input."""


def styles(labels: tuple[str, ...]) -> dict[str, Style]:
    """label -> style: that of `COMMON` for the first label of such an encoding, the others by order of appearance."""
    names = {label: plain(name) for label, name in short_names(labels).items()}
    looks = list(itertools.product(DASHES, COLORS))
    bare = {label: re.sub(r"[^a-z0-9]", "", label.partition("(")[0].casefold()) for label in labels}
    first = {own: label for label, own in reversed(bare.items())}
    places = {label: COMMON.index(own) for own, label in first.items() if own in COMMON}
    free = (place for place in itertools.count() if place not in places.values())
    places |= {label: next(free) for label in labels if label not in places}
    found = {}
    for label in labels:
        dash, color = looks[places[label] % len(looks)]
        found[label] = Style(names[label], color, dash, MARKERS[places[label] % len(MARKERS)])
    return found


def short_names(labels: tuple[str, ...], width: int = 34) -> dict[str, str]:
    """Names for figures: arguments that all labels share are left out, ``randomized(max_position=2048)|rope()`` is
    ``randomized|rope``, and what is longer than ``width`` is cut. A name that would stand for two labels stays whole.
    """
    parts = {label: _parts(label) for label in labels}
    variants: dict[str, set[str]] = collections.defaultdict(set)
    for name, arguments in (part for label in labels for part in parts[label]):
        variants[name].add(arguments)
    short = {
        label: "|".join(
            name if len(variants[name]) == 1 or arguments in ("", "()") else name + arguments
            for name, arguments in parts[label]
        )
        for label in labels
    }
    cut = {label: name if len(name) <= width else name[: width - 1] + "…" for label, name in short.items()}
    for names in (cut, short):
        if len(set(names.values())) == len(labels) and all(names.values()):
            return names
    return {label: label for label in labels}


_CALL = re.compile(r"[^\s()\[\]*]+(\(.*\))?", re.DOTALL)


def _parts(label: str) -> list[tuple[str, str]]:
    """``"a(x)|b"`` as ``[("a", "(x)"), ("b", "")]``."""
    parts, depth = [""], 0
    for character in label:
        depth += (character == "(") - (character == ")")
        if character == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    if not all(_CALL.fullmatch(part) for part in parts):  # words of somebody's, as "RoPE (ours)", not a spec
        return [(label, "")]
    return [(name, bracket + arguments) for name, bracket, arguments in (part.partition("(") for part in parts)]
