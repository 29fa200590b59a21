"""Texts from outside a corpus as tokens that a model can take: whole, or what becomes of those that are too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.data.text.classification import SECTIONS, Classification, InSections, Tokens, shortened
from posenc_jax.data.text.windows import windows
from posenc_jax.data.tokenizer import Tokenizer

TooLong = Literal["refuse", "truncate", "window"]
"""What becomes of a text of more tokens than a model was trained or evaluated with."""

Note = Callable[[str], None]


def text_pieces(
    text: str, what: str, too_long: TooLong, *, tokenizer: Tokenizer, limit: int, note: Note
) -> list[list[int]]:
    """The tokens of a text, as one piece or several of at most ``limit`` tokens; DataError when that cannot be.

    what: how messages call the text. note: hears what was cut.
    """
    tokens = tokenizer.encode(_checked(text, what))
    if not text.strip():
        raise DataError(f"{what} is empty: give it at least one word, or leave it out")
    _check_length(len(tokens), limit, what, too_long)
    if len(tokens) <= limit:
        return [tokens]
    if too_long == "truncate":
        _note_cut(len(tokens), limit, what, note)
        return [tokens[:limit]]
    return _windows(text, limit, what, tokenizer, note)


def document_pieces(
    document: Mapping[str, str] | str,
    what: str,
    too_long: TooLong,
    *,
    task: Classification,
    tokenizer: Tokenizer,
    limit: int,
    note: Note,
) -> list[Tokens]:
    """The tokens of a document as the task reads it, as one piece or several of at most ``limit`` tokens; DataError
    when that cannot be.

    "truncate" cuts as in training. With "window" each piece has a part of the body, and header and footer, which take
    at most half of the room; a document with an empty body is cut. Of sections with other names, or without a body,
    the one with the most text is read in parts.
    """
    if task.has_outline:
        return [_whole(document, what, too_long, task=task, tokenizer=tokenizer, limit=limit, note=note)]
    if isinstance(document, str):
        raise DataError(f"{what} is one text, and this run reads the sections {', '.join(task.sections)}: give those")
    known, sections = tuple(task.input_columns), task.sections
    unknown = [name for name in document if name not in known]
    if unknown:
        raise DataError(f"{what} has the section {unknown[0]!r}: the sections are {', '.join(known)}")
    texts = {name: _checked(document.get(name, ""), f"{what}, {name},") for name in sections}
    if not any(text.strip() for text in texts.values()):
        raise DataError(f"{what} is empty: this run reads its {', '.join(sections)}")
    shown = {name: tokenizer.encode(text) for name, text in texts.items()}
    total = sum(map(len, shown.values()))
    _check_length(total, limit, what, too_long)
    if total <= limit:
        return [InSections(shown, task.types).whole()]
    longest = max(shown, key=lambda name: len(shown[name]) if texts[name].strip() else 0)
    parted = "body" if "body" in shown and SECTIONS.keys() >= shown.keys() else longest
    if too_long == "truncate" or not texts[parted].strip():
        _note_cut(total, limit, what, note)
        return [InSections(shown, task.types).cut(limit)]
    others = {name: part for name, part in shown.items() if name != parted}
    around = shortened(others, limit // 2)
    before, left = (sum(map(len, part.values())) for part in (others, around))
    if left < before:
        _note_cut(before, left, f"{what} without its {parted}", note)
    pieces = _windows(texts[parted], limit - left, f"the {parted} of {what}", tokenizer, note)
    parts = ({name: piece if name == parted else around[name] for name in shown} for piece in pieces)
    return [InSections(part, task.types).whole() for part in parts]


def _whole(
    document: Mapping[str, str] | str,
    what: str,
    too_long: TooLong,
    *,
    task: Classification,
    tokenizer: Tokenizer,
    limit: int,
    note: Note,
) -> Tokens:
    """A document whose structure is read."""
    if not isinstance(document, str):
        raise DataError(f"{what} is in sections, and this run reads whole documents ({task.structure}): give one text")
    found = task.read(tokenizer, _checked(document, what), what)
    if not found.tokens:
        raise DataError(f"{what} is empty: give it at least one word, or leave it out")
    _check_length(found.size, limit, what, too_long)
    if found.size > limit:
        if too_long == "window":
            raise DataError(f"{what}: a part of a whole document has another structure: choose too_long = 'truncate'")
        _note_cut(found.size, limit, what, note)
    return found.cut(limit)


def _checked(text: str, what: str) -> str:
    """The text; DataError when it cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"{what} is no Unicode text: character {error.start} is the lone surrogate "
            f"U+{ord(text[error.start]):04X}; give it in UTF-8"
        ) from None
    if "\0" in text:
        raise DataError(f"{what} has a NUL character at {text.index(chr(0))}, and text has none: leave it out")
    return text


def _check_length(tokens: int, limit: int, what: str, too_long: TooLong) -> None:
    if too_long not in ("refuse", "truncate", "window"):
        raise ValueError(f"too_long = {too_long!r} must be 'refuse', 'truncate' or 'window'")
    if tokens > limit and too_long == "refuse":
        raise DataError(
            f"{what} has {tokens} tokens, and this run was trained and evaluated with at most {limit}: shorten it, or "
            "choose too_long = 'truncate' (drop its end) or 'window' (in pieces; not for summaries, nor for documents "
            "whose structure is read)"
        )


def _note_cut(tokens: int, limit: int, what: str, note: Note) -> None:
    note(f"{what}: {tokens - limit} of its {tokens} tokens are cut, {limit} are left")


def _windows(text: str, room: int, what: str, tokenizer: Tokenizer, note: Note) -> list[list[int]]:
    found = windows(text, lambda piece: len(tokenizer.encode(piece)) <= room)
    if not found:
        raise DataError(f"{what}: windows of {room} tokens are too small for a character: choose too_long = 'truncate'")
    note(f"{what} is read in {len(found)} windows of at most {room} tokens")
    return tokenizer.encode_all(found)
