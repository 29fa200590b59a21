"""HTML as headings and paragraphs."""

from html.parser import HTMLParser

from posenc_jax.data.documents.outline import DocumentBlock

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# What ends a paragraph, and what holds no text of the document.
_BREAKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "dd", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "footer", "form", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table"),
        *("tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul"),
    )
)
_SILENT = frozenset({"script", "style", "template", "noscript", "title"})


def html_blocks(text: str) -> list[DocumentBlock]:
    """Headings ``h1`` to ``h6``, and between them paragraphs: the text up to the next tag that breaks lines in a page.

    A heading is all that stands between its tags, whatever parts that into lines. White space is one space, as browsers
    show it; scripts, styles and the title of the window are left out.
    """
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader.end()
    return reader.blocks


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[DocumentBlock] = []
        self._text: list[str] = []
        self._within: set[str] = set()  # tags that began within the heading
        self._level, self._line, self._silent = 0, 1, 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HEADINGS:
            self.end()
            self._level = _HEADINGS[tag]
        else:
            self._break(tag)
            self._within.add(tag)
        self._silent += tag in _SILENT

    def handle_endtag(self, tag: str) -> None:
        around = tag in _BREAKS and tag != "p" and tag not in self._within  # what the heading stands in
        if tag in _HEADINGS or around:
            self.end()
        else:
            self._break(tag)
        self._silent = max(self._silent - (tag in _SILENT), 0)

    def _break(self, tag: str) -> None:
        if tag in _BREAKS and not self._level:
            self.end()
        elif (tag in _BREAKS or tag == "br") and self._text:
            self._text.append(" ")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if not self._text:
            self._line = self.getpos()[0]
        self._text.append(data)

    def end(self) -> None:
        """The block that is open is whole."""
        text = " ".join("".join(self._text).split())
        if text:
            self.blocks.append(DocumentBlock(text, self._level, self._line))
        self._text, self._level = [], 0
        self._within.clear()
