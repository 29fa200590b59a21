"""The card as a page that needs nothing else."""

from __future__ import annotations

import base64

from posenc_jax.drawing.document import document, html_table
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.paper import RESOLUTION
from posenc_jax.verdict.card import Card, text_tables


def page(card: Card, picture: bytes | None) -> str:
    """HTML; ``picture``: the figure as PNG, or None where it could not be drawn."""
    title = f"{card.label} against {', '.join(card.baselines)}"
    body = [f"<h1>{escaped(title)}</h1>", *(f'<p class="lead">{escaped(line)}</p>' for line in card.sentences)]
    if picture is not None:
        data = base64.b64encode(picture).decode()
        width = int.from_bytes(picture[16:20], "big") * 96 // RESOLUTION  # of a PNG
        size = f"width: min(100%, {width * 3 // 2}px); min-width: {width}px"  # on paper, or half as large again
        image = f'<img alt="{escaped(title)}" style="{size}" src="data:image/png;base64,{data}">'
        body.append(f'<div class="scroll">{image}</div>')
    for table in text_tables(card):
        body += [f"<h2>{escaped(table.title)}</h2>", html_table(table, table.title)]
    return document(title, body)
