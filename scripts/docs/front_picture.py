"""The picture of the README, from the committed results: `python -m scripts.docs.front_picture` draws it anew.

Two tasks: the score against length. Lines are means over seeds, bands their 95 % intervals, grey the training lengths.
The file says from which results it was drawn, and a test compares.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any, NamedTuple

from posenc_jax.drawing.paper import axes_of_lines, figure_of
from posenc_jax.drawing.style import COLORS, MUTED, SHADE

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments" / "length_generalisation" / "results.json"
PICTURE = Path(__file__).with_name("front-picture.png")


class Panel(NamedTuple):
    """A table of the results. ``lines``: the name of each line -> the cells that it stands for, which are equal, and
    the height of its name.
    """

    table: str
    score: str
    title: str
    lines: dict[str, tuple[tuple[str, ...], float]]


PANELS = (
    Panel(
        "rsc",
        "exact_match",
        "Copying: share of rows without an error",
        {
            "no positions": (("nope",), 0.95),
            "relative: T5": (("t5",), 0.1),
            "relative: ALiBi": (("alibi",), 0.0),
            "sinusoidal,\nrelative: RoPE": (("sinusoidal", "rope"), -0.13),
            "learned": (("learned",), 0.23),
        },
    ),
    Panel(
        "even_pairs",
        "accuracy",
        "First and last token equal? Accuracy, chance 0.5",
        {
            "sinusoidal at\nrandom positions": (("randomized sinusoidal",), 0.82),
            "sinusoidal": (("sinusoidal",), 0.49),
        },
    ),
)


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
    for (name, (cells, height)), color in zip(panel.lines.items(), COLORS):
        points, *others = (curve(found, panel, cell) for cell in cells)
        if any(other != points for other in others):
            raise ValueError(f"{name} stands for {', '.join(cells)}, whose scores differ: give each a line of its own")
        lengths, means, low, high = zip(*points)
        axes.fill_between(lengths, low, high, color=color, alpha=0.13, linewidth=0)
        axes.plot(lengths, means, color=color, marker="o", markersize=2.4, linewidth=1.5)
        axes.text(lengths[-1] + lengths[-1] / 40, height, name, color=color, fontsize=7, va="center")
    axes.set_ylim(-0.12, 1.18)
    axes.set_xlabel("length")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_title(panel.title, fontsize=8, loc="left")
    axes_of_lines(axes)


if __name__ == "__main__":
    main()
