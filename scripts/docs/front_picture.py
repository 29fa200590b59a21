"""The picture of the README, from the committed results: `python -m scripts.docs.front_picture` draws it anew.

Two tasks: the score against length. Lines are means over seeds, bands their 95 % intervals, grey the training lengths.
An encoding has one colour in both panels, and of many lines those that lie on each other are drawn apart. The file says
from which results it was drawn, and a test compares.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from posenc_jax.drawing.paper import axes_of_lines, figure_of
from posenc_jax.drawing.style import COMMON, INK, MUTED, SHADE, styles

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments" / "length_generalisation" / "results.json"
PICTURE = Path(__file__).with_name("front-picture.png")

LOOKS = styles(COMMON)


class Line(NamedTuple):
    """A cell of the results, its name in the picture and the height of that, and its colour."""

    cell: str
    name: str
    height: float
    color: str


class Panel(NamedTuple):
    """A table of the results, and the lines that are drawn of it."""

    table: str
    score: str
    title: str
    lines: tuple[Line, ...]


PANELS = (
    Panel(
        "rsc",
        "exact_match",
        "Copying: share of rows without an error",
        (
            Line("nope", "no positions", 0.95, LOOKS["nope"].color),
            Line("learned", "learned", 0.24, LOOKS["learned"].color),
            Line("t5", "relative: T5", 0.15, LOOKS["t5"].color),
            Line("alibi", "relative: ALiBi", 0.06, LOOKS["alibi"].color),
            Line("sinusoidal", "sinusoidal", -0.03, LOOKS["sinusoidal"].color),
            Line("rope", "relative: RoPE", -0.12, LOOKS["rope"].color),
        ),
    ),
    Panel(
        "even_pairs",
        "accuracy",
        "First and last token equal? Accuracy, chance 0.5",
        (
            Line("randomized sinusoidal", "sinusoidal at\nrandom positions", 0.82, INK),
            Line("sinusoidal", "sinusoidal", 0.49, LOOKS["sinusoidal"].color),
        ),
    ),
)
_APART = 0.015  # between many lines: at 1 each lies below the one before it, at 0 above the one after it


def main() -> None:
    """Writes the picture."""
    PICTURE.write_bytes(drawn(json.loads(RESULTS.read_text())))
    print(f"{PICTURE.relative_to(ROOT)}: written")


def digest() -> str:
    """Digest of the results that the picture shows."""
    return hashlib.sha256(RESULTS.read_bytes()).hexdigest()


def drawn(found: dict[str, Any]) -> bytes:
    """The bytes of the PNG."""
    with figure_of(7.2, 2.5) as figure:
        for axes, panel in zip(figure.subplots(1, 2), PANELS, strict=True):
            _panel(axes, panel, found)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=200, metadata={"Software": None, "Source": digest()})
        return buffer.getvalue()


def curve(found: dict[str, Any], panel: Panel, label: str) -> list[tuple[int, float, float, float]]:
    """Length, mean and interval at every length; an interval of equal seeds is the mean."""
    rows = [row for row in found["means"] if row["table"] == panel.table and row["label"] == label]
    points = [
        (row["length"], row["mean"], *((row["low"], row["high"]) if row["deviation"] else (row["mean"], row["mean"])))
        for row in rows
        if row["length"] is not None and row["score"] == panel.score
    ]
    return sorted(points)


def _panel(axes: Any, panel: Panel, found: dict[str, Any]) -> None:
    within = [int(length) for length in found["tables"][panel.table]["within"]]
    axes.axvspan(within[0], within[-1], color=SHADE, linewidth=0, zorder=0)
    axes.text(within[0], 1.16, f" trained to {within[-1]}", color=MUTED, fontsize=7, ha="left", va="top")
    many = len(panel.lines) > 2
    for number, line in enumerate(panel.lines):
        lengths, means, low, high = zip(*curve(found, panel, line.cell))
        axes.fill_between(lengths, low, high, color=line.color, alpha=0.13, linewidth=0)
        apart = [many * _APART * (len(panel.lines[number + 1 :]) * (1 - mean) - number * mean) for mean in means]
        look = {"color": line.color, "marker": "o", "markersize": 2.4, "linewidth": 1.2}
        axes.plot(lengths, [mean + up for mean, up in zip(means, apart)], **look)
        axes.text(lengths[-1] * 1.025, line.height, line.name, color=line.color, fontsize=7, va="center")
    if many:
        axes.text(within[0], -0.14, " equal lines are\n drawn apart", color=MUTED, fontsize=6, ha="left", va="bottom")
    axes.set_ylim(-0.17, 1.18)
    axes.set_xlabel("length")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title(panel.title, fontsize=8, loc="left")
    axes_of_lines(axes)


if __name__ == "__main__":
    main()
