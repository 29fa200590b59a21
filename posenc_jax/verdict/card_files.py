"""The files of a card: a self-contained page, Markdown, LaTeX, JSON and the figure."""

import base64
import dataclasses
import hashlib
import json
import re
from pathlib import Path

from posenc_jax.drawing.document import document, folded, html_table
from posenc_jax.drawing.hypertext import escaped
from posenc_jax.drawing.paper import RESOLUTION
from posenc_jax.files.atomic import make_directory, write_atomically
from posenc_jax.files.names import file_name
from posenc_jax.files.shapes import Json
from posenc_jax.files.user_paths import real
from posenc_jax.runs.files import read_json, write_json
from posenc_jax.verdict.card import SCHEMA, Card, judged, record
from posenc_jax.verdict.card_tables import latex_card, markdown_card, table
from posenc_jax.verdict.cells import numbered
from posenc_jax.verdict.figure import render
from posenc_jax.verdict.looks import EarlierRow, rows_of
from posenc_jax.verdict.measuring import Measured
from posenc_jax.verdict.question import KeptQuestion


def write(card: Card, directory: Path) -> list[Path]:
    """Writes ``card.html``, ``.md``, ``.tex``, ``.json``, and ``.png`` and ``.pdf`` where matplotlib is there, in a
    folder of ``directory`` that only this question has; returns the files, the page first.
    """
    home = directory / "cards" / _name(card)
    make_directory(home)
    try:
        pictures = render(card)
    except ModuleNotFoundError:
        pictures = {}
    files: dict[str, bytes] = {
        "card.html": page(card, pictures.get("png")).encode(),
        "card.md": markdown_card(card).encode(),
        "card.tex": latex_card(card).encode(),
        **{f"card.{kind}": data for kind, data in pictures.items()},
    }
    for name, data in files.items():
        write_atomically(home / name, data)
    write_json(home / "card.json", record(card))
    return [home / name for name in (*files, "card.json")]


def with_earlier(card: Card, *directories: Path) -> Card:
    """The card, judged with the rows that cards in these directories have of its encodings and baselines, whichever of
    the two was judged; a card that is written again in the first one keeps those that it had. Cards of another version
    are named in ``unequal``.
    """
    own = real(directories[0] / "cards" / _name(card) / "card.json")
    files = {real(path): read_json(path) for home in directories for path in sorted(home.glob("cards/*/card.json"))}
    known = {path: found for path, found in files.items() if found.get("schema") == SCHEMA}
    lost = (
        f"cards/{path.parent.name} is of another version, so its rows are not known" for path in files.keys() - known
    )
    found = card_of(known[own]).earlier if own in known else [row for kept in known.values() for row in rows_of(kept)]
    pairs = {(label, baseline) for label in card.labels for baseline in card.baselines}
    earlier = tuple(own for row in found for own in (row, row.turned) if (own.label, own.baseline) in pairs)
    return judged(dataclasses.replace(card, earlier=earlier, unequal=(*card.unequal, *sorted(lost))))


_LISTS = ("labels", "baselines", "seeds", "environments", "elsewhere", "unequal")


def card_of(kept: Json) -> Card:
    """The card whose `record` this is, judged by the rule as it is now."""
    known = [field.name for field in dataclasses.fields(Measured)]

    def measured(name: str, own: Json) -> Measured:
        """A cell; later versions may write more settings."""
        by_metric = {kept["tables"][name]["metric"]: own["by_length"]}
        fields = {"table": name, "seeds": kept["seeds"], **own, "by_metric": by_metric}
        return Measured(**{key: numbered(fields[key]) for key in known if key in fields})

    card = Card(
        tables={name: KeptQuestion.of_record(own) for name, own in kept["tables"].items()},
        measured={
            label: {name: measured(name, own) for name, own in by_table.items()}
            for label, by_table in kept["measured"].items()
        },
        seconds=kept["seconds"],
        earlier=tuple(EarlierRow(**numbered(own)) for own in kept.get("earlier", ())),
        twice=None if kept["twice"] is None else card_of(kept["twice"]),
        **{name: tuple(kept[name]) for name in _LISTS},
    )
    return judged(card)


def _name(card: Card) -> str:
    """The folder of a card: a readable name with a digest of everything that was asked."""
    asked = {own: {name: found.question for name, found in by_table.items()} for own, by_table in card.measured.items()}
    question = json.dumps([*card.labels, card.baselines, list(card.tables), card.seeds, asked], sort_keys=True)
    on = "-".join(card.tables) if len(card.tables) == 1 else f"{len(card.tables)}-tables"
    words = f"{card.label}-against-{'-'.join(card.baselines)}-{on}-{len(card.seeds)}-seeds"
    return file_name(words, hashlib.sha256(question.encode()).hexdigest()[:8])


def _unbroken(line: str) -> str:
    """Escaped, with differences and their intervals on one line each, and every p."""
    return re.sub(
        r"\S+ \[[^]]*\]|\(p [^)]*\)", lambda found: found[0].replace(" ", "\u00a0").replace("-", "−"), escaped(line)
    )


def page(card: Card, picture: bytes | None) -> str:
    """HTML; ``picture``: the figure as PNG, or None where it could not be drawn."""
    title = f"{card.label} against {', '.join(card.baselines)}"
    body = [f"<h1>{escaped(title)}</h1>", *(f'<p class="lead">{_unbroken(line)}</p>' for line in card.headline)]
    if picture is not None:
        data = base64.b64encode(picture).decode()
        width = int.from_bytes(picture[16:20], "big") * 96 // RESOLUTION  # of a PNG
        size = f"width: min(100%, {width * 3 // 2}px); min-width: {width}px"  # on paper, or half as large again
        image = f'<img alt="{escaped(title)}" style="{size}" src="data:image/png;base64,{data}">'
        body.append(folded("Scores by length, and the differences", f'<div class="scroll">{image}</div>', shown=True))
    body.append(html_table(table(card), title))
    return document(title, body)
