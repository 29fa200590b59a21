"""One HTML file that needs nothing else: plotly.js stands in it, packed to two fifths, a content security policy
forbids requests.
"""

import base64
import gzip
import importlib.resources
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.interactive import dark_words, figure
from posenc_jax.drawing.plots import HeatMap, Plot
from posenc_jax.drawing.style import Style
from posenc_jax.drawing.text_table import BEST, TextTable
from posenc_jax.extras import needed

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def document(title: str, body: list[str], plots: Sequence[Plot] = ()) -> str:
    """A page of its own: ``body`` in HTML, and the ``plots`` drawn in their `html_figure`; only those need plotly."""
    figures = {plot.slug: figure(plot) for plot in plots}
    scripts = [f"const DARK = {json_in_script(dark_words())};\n{_file('figures.js')}"] if figures else []
    scripts += [_file("tables.js")] if any("<table data-name=" in part for part in body) else []
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escaped(title)}</title>",
            f"<style>\n{page_style()}</style>",
            "</head>",
            "<body>",
            *body,
            *([f'<script type="application/gzip" id="plotly">{packed_plotly()}</script>'] if figures else []),
            *([f'<script type="application/json" id="figures">{json_in_script(figures)}</script>'] if figures else []),
            *(f"<script>{script}</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


def html_figure(plot: Plot, heading: str = "") -> str:
    """The place of a plot in a page, under a heading (its title by default), with its caption; a reader who does not
    see it hears both axes.
    """
    said = f"{heading or plot.title}: {plot.y.title or 'rows'} against {plot.x.title or 'columns'}"
    place = f'<div class="figure" id="{escaped(plot.slug)}" role="figure" aria-label="{escaped(said)}"></div>'
    if isinstance(plot, HeatMap) and min(plot.columns, len(plot.panels)) > 2:  # too small on a phone: it scrolls
        place = f'<div class="scroll wide">{place}</div>'
    caption = f'<p class="caption">{escaped(plot.caption)}</p>'
    return "\n".join((f"<h3>{escaped(heading or plot.title)}</h3>", place, caption))


def folded(title: str, body: str, *, shown: bool = False) -> str:
    """A section of a page that its title shows and hides."""
    return f"<details{' open' * shown}><summary>{escaped(title)}</summary>{body}</details>"


_SPLIT = re.compile(r"([^ ]*\d[^ ]*(?: of \d+)?) ((?:\[[^]]*\]|\([^)]*\))(?: \([^)]*\))?)")


def html_table(table: TextTable, name: str, style: Mapping[str, Style] | None = None) -> str:
    """A table that can be copied, and saved as CSV under a name; what stands in brackets goes under its number, an
    encoding has its colour beside its name.
    """
    named = [style is not None and column == "encoding" for column in table.columns]
    kinds = ["l name" if encoding else align for encoding, align in zip(named, table.align)]
    head = "".join(f'<th class="{kind}">{escaped(column)}</th>' for kind, column in zip(kinds, table.columns))
    lines = []
    for row, line in enumerate(table.entries):
        cells = []
        for i, (kind, entry) in enumerate(zip(kinds, line)):
            if style is not None and named[i]:
                color = style[entry].color if entry in style else "transparent"
                swatch = f'<span class="swatch" style="background:{color}"></span>'
                cells.append(f'<td class="l name">{swatch}{_breakable(entry)}</td>')
                continue
            split = _SPLIT.fullmatch(entry)
            value, rest = split.groups() if split else (entry, "")
            groups = rest.replace("] (", "]\n(").split("\n")
            small = f"<small>{' '.join(f'<span>{_minus(own)}</span>' for own in groups)}</small>" if rest else ""
            bold = ("<strong>", "</strong>") if (row, i) in table.best else ("", "")
            kind = "l wrap" if kind == "l" and len(entry) > 30 else kind
            cells.append(f'<td class="{kind}">{bold[0]}{_minus(value)}{bold[1]}{small}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{escaped(note)}</li>" for note in (*table.notes, *([BEST] if table.best else [])))
    whole = f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
    below = f'<ul class="notes">{notes}</ul>' if notes else ""
    return f'<div class="scroll"><table data-name="{escaped(name)}">{whole}</table></div>{below}'


def _minus(text: str) -> str:
    return re.sub(r"(?<![\w.-])-(?=\d)", "−", escaped(text))


def _breakable(label: str) -> str:
    return escaped(label).replace("|", "|<wbr>").replace(",", ",<wbr>")


def page_style() -> str:
    """The style sheet of all pages."""
    return _file("page.css")


def _file(name: str) -> str:
    return importlib.resources.files("posenc_jax.drawing").joinpath(name).read_text(encoding="utf-8")


def packed_plotly() -> str:
    """plotly.js, from the plotly package, with gzip and in Base64."""
    with needed("report", "the HTML report"):
        from plotly.offline import get_plotlyjs
    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), mtime=0)).decode()


def json_in_script(value: Any) -> str:
    """JSON that can stand in a script element: no ``<`` begins a tag or a comment, no character ends a line or reorders
    one.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<\u2028\u2029\u202a-\u202e\u2066-\u2069]", lambda found: f"\\u{ord(found[0]):04x}", text)
