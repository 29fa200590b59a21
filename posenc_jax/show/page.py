"""Plots as one interactive HTML page that needs nothing else, with the tables of properties."""

from collections.abc import Sequence

from posenc_jax.drawing.document import document, html_figure, html_table
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.plots import Plot
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.show.views import VIEWS


def page(title: str, facts: str, plots: Sequence[Plot], properties: list[TextTable]) -> str:
    """The whole document. Needs plotly, for its JavaScript only."""
    body = [f"<h1>{escaped(title)}</h1>"]
    body += [f'<p class="facts">{escaped(facts)}</p>'] if facts != title else []
    body += ['<h2 id="properties">What is measured</h2>']
    for table in properties:
        notes = f'<p class="caption">{escaped(" ".join(table.notes))}</p>'
        body += [f"<h3>{escaped(table.title)}</h3>"]
        body += [f"<p>{escaped(table.lead)}</p>"] if table.lead else []
        body += [html_table(table, table.title) if table.entries else notes]
    for name, view in VIEWS.items():
        own = [plot for plot in plots if plot.view == name]
        if own:
            heading = view.words if view.words.startswith("t-") else view.words[0].upper() + view.words[1:]
            body.append(f'<h2 id="view-{name}">{escaped(heading)}</h2>')
        body += map(html_figure, own)
    body.append("<footer>Written by posenc_jax: posenc show.</footer>")
    return document(title, body, plots)
