"""Texts from outside a corpus as tokens that a model can take: whole, or what becomes of those that are too long."""

import bisect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

from posenc_jax.data.documents.outline import END
from posenc_jax.data.errors import DataError
from posenc_jax.data.text.classification import SECTIONS, Classification, Tokens, shortened
from posenc_jax.data.tokenizer import Tokenizer

# What becomes of a text of more tokens than a model was trained or evaluated with.
TooLong = Literal["refuse", "truncate", "window"]

_WORD = re.compile(r"\s+")
_TOLD, _NAMED = 5, 50  # of the inputs that are refused: with their reasons, and then by name alone
Note = Callable[[str], None]
T = TypeVar("T")
P = TypeVar("P")


def all_pieces(
    inputs: Mapping[str, T], read: Callable[..., list[P]], note: Note, remarks: Sequence[str] = ()
) -> list[list[P]]:
    """The result of ``read(input, name, note=...)`` for each input by its name; a DataError names all that it refuses.

    Args:
      note: called with a message on what was cut, if nothing is refused.
      remarks: further sentences for a refusal.
    """
    found: list[list[P]] = []
    notes: list[str] = []
    refused: dict[str, str] = {}
    for name, one in inputs.items():
        try:
            found.append(read(one, name, note=notes.append))
        except DataError as error:
            refused[name] = str(error)
    if refused:
        reasons, names = list(refused.values())[:_TOLD], list(refused)[_TOLD:]
        if names:
            more = f", and {len(names) - _NAMED} more" * (len(names) > _NAMED)
            reasons.append(f"and for such reasons {', '.join(names[:_NAMED])}{more}")
        count = f"{len(refused)} of {len(inputs)} are refused: " if len(refused) > 1 else ""
        raise DataError(count + "; ".join((*reasons, *remarks)))
    for said in notes:
        note(said)
    return found


def text_pieces(
    text: str, what: str, too_long: TooLong, *, tokenizer: Tokenizer, limit: int, note: Note, parts: bool = True
) -> list[list[int]]:
    """The tokens of a text without the blanks around it, as rows of corpora are, as one piece or several of at most
    ``limit`` tokens; DataError when that cannot be.

    Args:
      what: how messages call the text.
      note: hears what was cut.
      parts: whether windows make sense for its task.
    """
    text = _checked(text, what).strip()
    tokens = tokenizer.encode(text)
    if not text:
        raise DataError(f"{what} is empty: give it at least one word, or leave it out")
    _check_length(len(tokens), limit, what, too_long, parts=parts)
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
    """The tokens of a document as the task reads it (`Classification.sections_of` one text), as one piece or several of
    at most ``limit`` tokens; DataError when that cannot be.

    "truncate" cuts as in training. With "window" each piece has a part of the body, and header and footer, which take
    at most half of the room; a document with an empty body is cut. Of sections with other names, or without a body,
    the one with the most text is read in parts.
    """
    if task.has_outline:
        if not isinstance(document, str):
            raise DataError(
                f"{what} is in sections, and this run reads whole documents ({task.structure}): give one text"
            )
        whole = task.read(tokenizer, _checked(document, what), what)
        if not whole.tokens:
            raise DataError(f"{what} is empty: give it at least one word, or leave it out")
        _check_length(len(whole.tokens), limit, what, too_long, parts=False)
        if len(whole.tokens) > limit:
            if too_long == "window":
                raise DataError(
                    f"{what}: a part of a whole document has another structure: choose too_long = 'truncate'"
                )
            _note_cut(len(whole.tokens), limit, what, note)
        return [whole.cut(limit)]
    if isinstance(document, str):
        document = task.sections_of(document, what)
    known, sections = tuple(task.input_columns), task.sections
    unknown = [name for name in document if name not in known]
    if unknown:
        raise DataError(f"{what} has the section {unknown[0]!r}: the sections are {', '.join(known)}")
    texts = {name: _checked(document.get(name, ""), f"{what}, {name},").strip() for name in sections}
    if not any(texts.values()):
        raise DataError(f"{what} is empty: this run reads its {', '.join(sections)}")
    shown = {name: tokenizer.encode(text) for name, text in texts.items()}
    total = sum(map(len, shown.values()))
    _check_length(total, limit, what, too_long, parts=True)
    if total <= limit:
        return [task.joined(shown)]
    longest = max(shown, key=lambda name: len(shown[name]) if texts[name] else 0)
    parted = "body" if "body" in shown and SECTIONS.keys() >= shown.keys() else longest
    if too_long == "truncate" or not texts[parted]:
        _note_cut(total, limit, what, note)
        return [task.joined(shortened(shown, limit))]
    others = {name: part for name, part in shown.items() if name != parted}
    around = shortened(others, limit // 2)
    before, left = (sum(map(len, part.values())) for part in (others, around))
    if left < before:
        _note_cut(before, left, f"{what} without its {parted}", note)
    pieces = _windows(texts[parted], limit - left, f"the {parted} of {what}", tokenizer, note)
    parts = ({name: piece if name == parted else around[name] for name in shown} for piece in pieces)
    return [task.joined(part) for part in parts]


def _checked(text: str, what: str) -> str:
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


def _check_length(tokens: int, limit: int, what: str, too_long: TooLong, *, parts: bool) -> None:
    if too_long not in ("refuse", "truncate", "window"):
        raise ValueError(f"too_long = {too_long!r} must be 'refuse', 'truncate' or 'window'")
    if tokens > limit and too_long == "refuse":
        raise DataError(
            f"{what} has {tokens} tokens, and this run was trained and evaluated with at most {limit}: shorten it, or "
            "choose too_long = 'truncate' (drop its end)" + parts * " or too_long = 'window' (in pieces)"
        )


def _note_cut(tokens: int, limit: int, what: str, note: Note) -> None:
    note(f"{what}: {tokens - limit} of its {tokens} tokens are cut, {limit} are left")


def _windows(text: str, room: int, what: str, tokenizer: Tokenizer, note: Note) -> list[list[int]]:
    found = windows(text, lambda piece: len(tokenizer.encode(piece)) <= room)
    if not found:
        raise DataError(f"{what}: windows of {room} tokens are too small for a character: choose too_long = 'truncate'")
    note(f"{what} is read in {len(found)} windows of at most {room} tokens")
    return tokenizer.encode_all(found)


def windows(text: str, fits: Callable[[str], bool]) -> list[str]:
    """``text`` in order as pieces that fit, each as long as it can be; white space between pieces is dropped.

    A piece ends with a sentence (at ``.!?…。！？`` or the end of a line), else with a word, else with any character. No
    pieces when not even one character fits.

    >>> windows("One two. Three four five. Six.", lambda piece: len(piece) <= 16)
    ['One two.', 'Three four five.', 'Six.']
    """
    ends: tuple[Sequence[int], ...] = (
        [*(match.end() for match in END.finditer(text)), len(text)],
        [*(match.end() for match in _WORD.finditer(text)), len(text)],
        range(1, len(text) + 1),
    )
    pieces, start = [], 0
    while start < len(text):
        end = _end(text, start, ends, fits)
        if end is None:
            return []
        pieces.append(text[start:end].strip())
        start = end
    return [piece for piece in pieces if piece]


def _end(text: str, start: int, ends: tuple[Sequence[int], ...], fits: Callable[[str], bool]) -> int | None:
    """The end of the piece that begins at ``start``: the furthest fitting end of the first kind that has any."""
    furthest = (_furthest(kind, start, lambda end: fits(text[start:end].strip())) for kind in ends)
    return next((end for end in furthest if end is not None), None)


def _furthest(ends: Sequence[int], start: int, fits: Callable[[int], bool]) -> int | None:
    """The last of the ascending ``ends`` after ``start`` that fits, None if the first does not.

    Steps are doubled, then halved: the cost depends on the piece, not on the text.
    """
    first = bisect.bisect_right(ends, start)
    count = len(ends) - first
    low, step = -1, 1
    while step <= count and fits(ends[first + step - 1]):
        low, step = step - 1, 2 * step
    high = min(step - 1, count)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(ends[first + middle]) else (low, middle)
    return None if low < 0 else ends[first + low]
