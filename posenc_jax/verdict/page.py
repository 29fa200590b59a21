"""The card as a page that needs nothing else."""

from __future__ import annotations

import base64

from posenc_jax.drawing.document import document
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.paper import RESOLUTION
from posenc_jax.drawing.text_table import TextTable
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
    body += [_table(table) for table in text_tables(card)]
    return document(title, body, {})


def _table(table: TextTable) -> str:
    head = "".join(f'<th class="{align}">{escaped(name)}</th>' for align, name in zip(table.align, table.columns))
    lines = (
        "".join(f'<td class="{align}">{escaped(entry)}</td>' for align, entry in zip(table.align, entries))
        for entries in table.entries
    )
    notes = "".join(f"<li>{escaped(note)}</li>" for note in table.notes)
    return (
        f'<h2>{escaped(table.title)}</h2><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(f'<tr>{line}</tr>' for line in lines)}</tbody></table></div>"
        f'<ul class="notes">{notes}</ul>'
    )
