"""One HTML file that needs nothing else: plotly.js stands in it, a content security policy forbids requests."""

from __future__ import annotations

import importlib.resources
import json
import re
from html import escape
from typing import Any

from posenc_jax.drawing.interactive import Figure
from posenc_jax.extras import needed

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

_SCRIPT = """
for (const [id, figure] of Object.entries(JSON.parse(document.getElementById("figures").textContent))) {
  // Room for the legend above the plot: more lines of it on a narrow screen.
  const width = Math.max(document.getElementById(id).clientWidth - 100, 100);
  const names = figure.data.filter((trace) => trace.showlegend !== false).map((trace) => trace.name.length * 8 + 50);
  const rows = Math.ceil(1.2 * names.reduce((sum, one) => sum + one, 0) / width);
  figure.layout.height += 27 * Math.max(rows - 1, 0);
  Plotly.newPlot(id, figure.data, figure.layout, {
    responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    showSendToCloud: false, plotlyServerURL: "", toImageButtonOptions: {filename: id, scale: 3}
  });
}
"""


def document(title: str, body: list[str], figures: dict[str, Figure]) -> str:
    """A page of its own: ``body`` in HTML, and each of the ``figures`` drawn in the element of its name
    (without any it needs no plotly).
    """
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{page_style()}</style>",
            *([f"<script>{plotly_javascript()}</script>"] if figures else []),
            "</head>",
            "<body>",
            *body,
            *([f'<script type="application/json" id="figures">{json_in_script(figures)}</script>'] if figures else []),
            *([f"<script>{_SCRIPT}</script>"] if figures else []),
            "</body>",
            "</html>",
            "",
        ]
    )


def page_style() -> str:
    """The style sheet of all pages."""
    return importlib.resources.files("posenc_jax.drawing").joinpath("page.css").read_text(encoding="utf-8")


def plotly_javascript() -> str:
    """plotly.js, from the plotly package."""
    with needed("report", "the HTML report"):
        from plotly.offline import get_plotlyjs
    return get_plotlyjs()


def json_in_script(value: Any) -> str:
    """JSON that can stand in a script element: no ``<`` begins a tag or a comment, no character ends a line."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", text)
