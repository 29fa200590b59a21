"""A text with spans that say what its parts are."""

import json
from collections import Counter
from typing import Any, NamedTuple

from posenc_jax.data.documents.outline import NotNested, Part, sentences

# What a span can be, from the outside in; also "heading", which stands where a paragraph can.
KINDS = ("section", "subsection", "paragraph", "sentence")

_FORM = (
    '{"text": ..., "spans": [[start, end, kind, name], ...]}, kinds section, subsection, paragraph, sentence, heading'
)


class _Span(NamedTuple):
    start: int
    end: int
    kind: str
    name: str

    @property
    def rank(self) -> int:
        return KINDS.index("paragraph" if self.kind == "heading" else self.kind)

    def __str__(self) -> str:
        return f"the {self.kind} {self.start}..{self.end}"


def spans_parts(text: str, what: str) -> list[Part]:
    """The parts of ``{"text": ..., "spans": [[start, end, kind, name], ...]}`` (JSON), by characters of the text.

    A kind is one of `KINDS` or "heading"; the name, which sections may have, may be missing. Text outside of all
    paragraphs belongs to what is around it. NotNested: no such JSON, a span outside the text, spans that overlap
    without one holding the other, or a kind within one of its own or of a smaller kind.
    """
    whole, spans = _read(text, what)
    numbers: Counter[tuple[int, ...]] = Counter()  # of the parts that are directly within what has this path
    open_spans: list[tuple[_Span, int]] = []
    parts: list[Part] = []
    at = 0

    def path(rank: int) -> tuple[int, ...]:
        """The numbers of the open spans of the kinds above, 0 where none is open."""
        held = {span.rank: number for span, number in open_spans if span.kind != "heading"}
        return tuple(held.get(above, 0) for above in range(rank))

    def next_in(path: tuple[int, ...]) -> tuple[int, ...]:
        numbers[path] += 1
        return (*path, numbers[path])

    def take(until: int) -> None:
        """The text up to there, where it stands now."""
        nonlocal at
        piece, at = whole[at:until].strip(), max(at, until)
        kinds = {span.kind: span for span, _ in open_spans}
        section = kinds["section"].name if "section" in kinds else ""
        coordinates: Any
        if "heading" in kinds:
            pieces, coordinates = [piece] * bool(piece), [next_in((*path(2), 0))]
        elif "sentence" in kinds:
            pieces, coordinates = [piece] * bool(piece), [path(4)]
        else:
            pieces = sentences(piece)
            around = path(3) if "paragraph" in kinds or not pieces else next_in(path(2))
            coordinates = [next_in(around) for _ in pieces]
        parts.extend(Part(text, section, numbers) for text, numbers in zip(pieces, coordinates, strict=False))

    for span in spans:
        while open_spans and open_spans[-1][0].end <= span.start:
            take(open_spans[-1][0].end)
            open_spans.pop()
        _check(span, [around for around, _ in open_spans], what)
        take(span.start)
        number = 0 if span.kind == "heading" else next_in(path(span.rank))[-1]
        open_spans.append((span, number))
    while open_spans:
        take(open_spans[-1][0].end)
        open_spans.pop()
    take(len(whole))
    return parts


def _check(span: _Span, open_spans: list[_Span], what: str) -> None:
    if open_spans and span.end > open_spans[-1].end:
        raise NotNested(what, f"{span} and {open_spans[-1]} overlap: one has to hold the other, or none")
    if open_spans and span.rank <= open_spans[-1].rank:
        raise NotNested(what, f"{span} stands in {open_spans[-1]}: from the outside in they are {', '.join(KINDS)}")
    needed = {"subsection": ("section",), "sentence": ("paragraph", "heading")}.get(span.kind)
    if needed and not (open_spans and open_spans[-1].kind in needed):
        raise NotNested(what, f"{span} stands in no {needed[0]}: give a span for that too")


def _read(text: str, what: str) -> tuple[str, list[_Span]]:
    """The text and its spans, from the first to the last, outer ones first."""
    try:
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError("it is no object")
        whole, given = found.get("text"), found.get("spans")
        if not isinstance(whole, str):
            raise ValueError("its 'text' is no text" if "text" in found else "it has no 'text'")
        if not isinstance(given, list):
            raise ValueError("its 'spans' are no list" if "spans" in found else "it has no 'spans'")
        spans = [_span(one) for one in given]
    except (ValueError, RecursionError) as error:
        why = str(error)
        if isinstance(error, json.JSONDecodeError):
            why = f"no JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        elif isinstance(error, RecursionError):
            why = "it is nested too deep"
        raise NotNested(what, f"no text with spans ({why}): write {_FORM}", joint=" is ") from None
    if "\0" in whole:
        raise NotNested(what, "text has a NUL character (\\u0000), and text has none: leave it out")
    for span in spans:
        if not 0 <= span.start < span.end <= len(whole):
            raise NotNested(what, f"{span} is not within the {len(whole)} characters of the text")
    return whole, sorted(spans, key=lambda span: (span.start, -span.end, span.rank))


def _span(one: Any) -> _Span:
    if not isinstance(one, list) or len(one) not in (3, 4):
        raise ValueError(f"{one!r} is no span")
    start, end, kind, name = (*one, "") if len(one) == 3 else one
    if not (type(start) is int and type(end) is int and isinstance(kind, str) and isinstance(name, str)):
        raise ValueError(f"{one!r} is no span")
    if kind not in (*KINDS, "heading"):
        raise ValueError(f"{kind!r} is no kind of span")
    return _Span(start, end, kind, name)
