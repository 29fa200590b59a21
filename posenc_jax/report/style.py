"""One colour, dash and marker per encoding, the same in every figure of a report.

The colours are those of Okabe and Ito's colour-blind-safe palette without its yellow, which is unreadable on white.
They repeat after seven encodings with another dash; the markers repeat after nine.
"""

from __future__ import annotations

import dataclasses

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
DASHES = ("solid", "dash", "dot", "dashdot")
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "hexagon", "star", "x")

INK, MUTED, GRID, SHADE = "#1f2933", "#5f6b7a", "#e4e7eb", "#eef1f5"


@dataclasses.dataclass(frozen=True)
class Style:
    """How one encoding is drawn (plotly's names for dash and marker)."""

    color: str
    dash: str
    marker: str


def styles(labels: tuple[str, ...]) -> dict[str, Style]:
    """label -> style, by order of appearance."""
    return {
        label: Style(COLORS[i % len(COLORS)], DASHES[i // len(COLORS) % len(DASHES)], MARKERS[i % len(MARKERS)])
        for i, label in enumerate(labels)
    }
