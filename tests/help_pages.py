"""A help in miniature, in the layout of the packages of LibreOffice Help."""

from __future__ import annotations

from pathlib import Path

from posenc_jax.data.corpora.libreoffice import FOLDERS, package

FRAME = """<!DOCTYPE html>
<html lang="{language}"><head><title>no text</title></head>
<body><header><p dir="auto">LibreOffice 7.4 Help</p></header>
<div id="DisplayArea">
{body}
</div>
<footer><div id="DEBUG"><h3 class="bug">Help content debug info:</h3><p>This page is: /text/swriter/x.xhp</p>
<p id="bm_module" dir="auto">frame</p></div></footer></body></html>
"""


def write_page(folder: Path, language: str, name: str, body: str) -> Path:
    """Writes one page, such as "swriter/guide/a.html", into the unpacked package of a language."""
    path = folder / package(language) / "usr/share/libreoffice/help" / FOLDERS[language] / "text" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FRAME.format(language=language, body=body))
    return path


def write_help(folder: Path, count: int = 60) -> Path:
    """Pages with one English and German pair each, enough for every split to have some; gives ``folder``."""
    for number in range(count):
        name = f"{('swriter', 'scalc', 'shared')[number % 3]}/{number:03d}.html"
        write_page(
            folder,
            "en",
            name,
            f'<h1 id="hd_1">Title of {number}</h1><meta itemprop="keywords" content="word,{number}">'
            f'<p id="par_2">Open the document of the office with the long number {number}.</p>'
            f'<p id="par_3" class="code">{"print a line of code " * 8}</p>',
        )
        write_page(
            folder,
            "de",
            name,
            f'<h1 id="hd_1">Titel von {number}</h1>'
            f'<p id="par_2">Öffnen Sie das Dokument des Büros mit der langen Nummer {number}.</p>'
            f'<p id="par_3" class="code">{"schreibe eine Zeile Code " * 8}</p>',
        )
    return folder
