"""Interactive figures, plotly's in plain JSON values: what all of them share. No plotly is needed to make them."""

from __future__ import annotations

from typing import Any

from posenc_jax.drawing.hypertext import in_figure
from posenc_jax.drawing.style import DARK, GRID, INK, MUTED, PAPER

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
Figure = dict[str, Any]

LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "xanchor": "left", "yanchor": "bottom"}


def base_layout(height: int) -> dict[str, Any]:
    """The layout that all figures share."""
    axis = {
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": MUTED,
        "ticks": "outside",
        "tickcolor": MUTED,
        "ticklen": 4,
    }
    return {
        "height": height,
        "margin": {"l": 56, "r": 40, "t": 24, "b": 52},
        "modebar": {"orientation": "v"},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "font": {"family": FONT, "size": 13, "color": INK},
        "hoverlabel": {"font": {"family": FONT, "size": 13}},
        "hovermode": "closest",
        "xaxis": {**axis, "showline": True, "showgrid": False, "fixedrange": False},
        "yaxis": {**axis, "showline": False},
    }


def title_of(text: str) -> dict[str, Any]:
    """The title of an axis."""
    return {"text": in_figure(text), "font": {"size": 13}}


def note(text: str, x: float, y: float, xref: str, xanchor: str, yanchor: str, yref: str = "paper") -> dict[str, Any]:
    """A small annotation; ``text`` is HTML."""
    return {
        "text": text,
        "x": x,
        "y": y,
        "xref": xref,
        "yref": yref,
        "xanchor": xanchor,
        "yanchor": yanchor,
        "showarrow": False,
        "font": {"size": 12, "color": MUTED},
    }


def level(value: float, of: str = "y") -> dict[str, Any]:
    """A dotted line at a value of the axis ``of``, through the whole figure."""
    other = "x" if of == "y" else "y"
    ends = {f"{of}ref": of, f"{of}0": value, f"{of}1": value, f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1}
    return {"type": "line", "layer": "below", "line": {"color": MUTED, "width": 1.2, "dash": "dot"}} | ends


def faded(color: str, opacity: float) -> str:
    """``#rrggbb`` with an opacity."""
    return f"{_rgba(color)}{opacity})"


def dark_words() -> dict[str, str]:
    """Replacements of the light colours in a figure's JSON that make it a figure for a dark page."""
    return DARK | {_rgba(light): _rgba(dark) for light, dark in DARK.items()}


def _rgba(color: str) -> str:
    return "rgba({},{},{},".format(*(int(color[i : i + 2], 16) for i in (1, 3, 5)))
