"""LibreOffice Help: sentences in several languages, and pages with their module.

Packages libreoffice-help-en-us, -de, -fr, -ja: about 2,560 HTML pages per language. A paragraph or heading has an id
that it shares with its translations in the file of the same name, so that no aligner is needed.
"""

from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from experiments.corpora.clean import clean
from posenc_jax.data.corpora.corpus import Row, Rows, split_rows

FOLDERS = {"en": "en-US", "de": "de", "fr": "fr", "ja": "ja"}
"""Language: the folder of its pages; the package is ``libreoffice-help-`` and this in lower case."""

MIN_PAGE_WORDS = 30
_BLOCKS = {"p", "h1", "h2", "h3", "h4", "h5", "h6"}
_DEFAULT = "default"


class HelpBlock(NamedTuple):
    """One paragraph or heading: its id ("" for none), tag, class, text with single spaces; is it of related topics?"""

    id: str
    tag: str
    style: str
    text: str
    related: bool


class Page(NamedTuple):
    """The content of a help page: its blocks, all that have an id or a text, and the words of its index."""

    blocks: tuple[HelpBlock, ...]
    keywords: tuple[str, ...]


def package(language: str) -> str:
    """The Debian package of a language."""
    return f"libreoffice-help-{FOLDERS[language].lower()}"


def translation(folder: Path, language: str) -> Rows:
    """Pairs of an English block and its translation, by the split of their page.

    Blocks are joined on (file, id, how often the id occurred before). Dropped are code, what is not translated, and
    what ``clean`` refuses; of pairs with the same English text the first stays.
    """
    english, other = pages(folder, "en"), pages(folder, language)
    rows: list[Row] = []
    seen: set[str] = set()
    for path, page in english.items():
        translated = dict(_keyed(other[path].blocks)) if path in other else {}
        for key, block in _keyed(page.blocks):
            match = translated.get(key)
            if match is None or _is_code(block) or not clean(block.text, match.text, language) or block.text in seen:
                continue
            seen.add(block.text)
            rows.append({"en": block.text, language: match.text, "doc": path})
    return split_rows(rows)


def modules(folder: Path) -> Rows:
    """Pages of at least 30 words and the module that they are about; neither paths nor targets of links are text.

    Header is the title and the words of the index, body the blocks, footer the titles of related topics.
    """
    rows = []
    for path, page in pages(folder, "en").items():
        title = [block.text for block in page.blocks if block.tag == "h1"]
        body = [block.text for block in page.blocks if block.id and block.tag != "h1" and not block.related]
        footer = [block.text for block in page.blocks if block.related]
        if body and len(" ".join([*title, *body, *footer]).split()) >= MIN_PAGE_WORDS:
            texts = {"header": [*title, *page.keywords], "body": body, "footer": footer}
            row = {column: "\n".join(filter(None, lines)) for column, lines in texts.items()}
            rows.append(row | {"label": path.partition("/")[0], "doc": path})
    return split_rows(rows)


def pages(folder: Path, language: str) -> dict[str, Page]:
    """All pages of one language by their path below ``text``, sorted."""
    root = folder / package(language) / "usr/share/libreoffice/help" / FOLDERS[language] / "text"
    paths = sorted((path.relative_to(root).as_posix(), path) for path in root.rglob("*.html"))
    return {name: read_page(path.read_text(encoding="utf-8"), name.partition("/")[0]) for name, path in paths}


def read_page(html: str, module: str = "") -> Page:
    """Reads one page of the module "swriter", "scalc", ...: where the text depends on the reader's system or program,
    the case of the page's own program is kept, else the default, else the first.
    """
    reader = _Reader(module)
    reader.feed(html)
    reader.close()
    return Page(tuple(reader.blocks), tuple(reader.keywords))


class _Reader(HTMLParser):
    def __init__(self, module: str) -> None:
        super().__init__()
        self.blocks: list[HelpBlock] = []
        self.keywords: list[str] = []
        self._program = module.removeprefix("s").upper()
        self._block: tuple[str, str, str] | None = None
        self._text: list[str] = []
        self._spans: list[_Span] = []  # open ones, within a block
        self._related = False
        self._related_divs = 0  # open ones, from that of the related topics on

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            found = dict(attrs)
            self._end_block()
            if tag != "p" and not self._related_divs:
                self._related = False
            self._block = (found.get("id") or "", tag, found.get("class") or "")
        elif tag == "span" and self._block:
            style = dict(attrs).get("class") or ""
            in_switch = bool(self._spans) and self._spans[-1].cases is not None
            self._spans.append(_Span(style or _DEFAULT, {} if style == "switchinline" else None, in_switch, self._text))
            self._text = [] if in_switch else self._text
        elif tag == "div":
            if self._related_divs or dict(attrs).get("class") == "relatedtopics":
                self._related_divs += 1
        elif tag == "meta":
            found = dict(attrs)
            if found.get("itemprop") == "keywords" and found.get("content"):
                self.keywords.append(" ".join((found["content"] or "").split()))
        elif tag == "br":
            self._text.append(" ")
        elif tag == "footer":  # of the page's frame
            self._related = False

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._end_block()
        elif tag == "span" and self._spans:
            self._end_span()
        elif tag == "div" and self._related_divs:
            self._related_divs -= 1

    def handle_data(self, data: str) -> None:
        if self._block:
            self._text.append(data)

    def _end_span(self) -> None:
        span = self._spans.pop()
        if span.cases:
            name = next((n for n in (self._program, _DEFAULT) if n in span.cases), next(iter(span.cases)))
            self._text.append(span.cases[name])
        if span.in_switch:
            cases = self._spans[-1].cases
            assert cases is not None
            cases.setdefault(span.name, "".join(self._text))
            self._text = span.outer

    def _end_block(self) -> None:
        if self._block is None:
            return
        while self._spans:
            self._end_span()
        identity, tag, style = self._block
        text = " ".join("".join(self._text).split())
        self._block, self._text = None, []
        if style == "related":  # the heading of those topics; on a few pages they come after the <div>
            self._related = True
        elif (text or identity) and not (tag == "p" and identity.startswith("bm_")):  # those are of the page's frame
            self.blocks.append(HelpBlock(identity, tag, style, text, self._related))


class _Span(NamedTuple):
    name: str
    cases: dict[str, str] | None  # of a switch: the text of each case
    in_switch: bool  # it is a case itself
    outer: list[str]


def _keyed(blocks: tuple[HelpBlock, ...]) -> Iterator[tuple[tuple[str, int], HelpBlock]]:
    """Blocks with an id by it and how often it occurred before in the page."""
    count: Counter[str] = Counter()
    for block in blocks:
        if block.id:
            yield (block.id, count[block.id]), block
            count[block.id] += 1


def _is_code(block: HelpBlock) -> bool:
    return "code" in block.style
