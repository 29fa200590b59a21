"""Plots as one interactive HTML page that needs nothing else, with the tables of properties."""

from __future__ import annotations

from collections.abc import Sequence

from posenc_jax.drawing.document import document
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.show.interactive import figure
from posenc_jax.show.plots import Plot
from posenc_jax.show.views import VIEWS


def page(title: str, facts: str, plots: Sequence[Plot], properties: list[TextTable]) -> str:
    """The whole document. Needs plotly, for its JavaScript only."""
    body = [f"<h1>{escaped(title)}</h1>"]
    body += [f'<p class="facts">{escaped(facts)}</p>'] if facts != title else []
    body += ['<h2 id="properties">Properties of position vectors</h2>', *map(_table, properties)]
    for name, view in VIEWS.items():
        own = [plot for plot in plots if plot.view == name]
        if own:
            heading = view.words if view.words.startswith("t-") else view.words[0].upper() + view.words[1:]
            body.append(f'<h2 id="view-{name}">{escaped(heading)}</h2>')
        for plot in own:
            body += [
                f"<h3>{escaped(plot.title)}</h3>",
                f'<div class="figure" id="{escaped(plot.slug)}"></div>',
                f'<p class="caption">{escaped(plot.caption)}</p>',
            ]
    body.append("<footer>Written by posenc_jax: posenc show.</footer>")
    return document(title, body, {plot.slug: figure(plot) for plot in plots})


def _table(table: TextTable) -> str:
    head = "".join(f'<th class="l">{escaped(column)}</th>' for column in table.columns)
    kinds = ("l", "l", "l wrap")
    lines = "".join(
        "<tr>" + "".join(f'<td class="{k}">{escaped(entry)}</td>' for k, entry in zip(kinds, line)) + "</tr>"
        for line in table.entries
    )
    notes = f'<p class="caption">{escaped(" ".join(table.notes))}</p>' if table.notes else ""
    if not lines:
        return f"<h3>{escaped(table.title)}</h3>{notes}"
    return (
        f"<h3>{escaped(table.title)}</h3>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>{notes}'
    )
