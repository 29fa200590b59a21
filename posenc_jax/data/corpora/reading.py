"""Rows from files of the user's: plain text, folders of it, JSON lines and CSV; `arrow` has the others.

Every reader yields ``(location, fields)`` for a valid record and ``(location, Malformed(why))`` for another one. A
location is ``FILE:LINE``, of a Parquet file ``FILE:ROW``, from 1 on. Files are read, never changed. A field is a text;
those that are ``names``, of classes and documents, may be whole numbers too.
"""

import csv
import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora.corpus import DataError, files_below

# Bytes of a line, and characters of a field: longer ones are malformed.
LONGEST_LINE = 2**20
# Characters from which on a text file is cut, at the end of a line, into several documents.
DOCUMENT = 2**14
_BOM = b"\xef\xbb\xbf"
# The first two bytes of files that hold no line of UTF-8.
_OTHER_FILES = {
    b"\x1f\x8b": "packed by gzip: unpack it",
    b"\xff\xfe": "in UTF-16: save it in UTF-8",
    b"\xfe\xff": "in UTF-16: save it in UTF-8",
}
_LINE_ENDS = ", or save the table as CSV in UTF-8, with lines that end in LF or CRLF"


@dataclasses.dataclass(frozen=True)
class Malformed:
    """A record that cannot be used: the reason, and how many lines of its file it has.

    Attributes:
      odd_quotes: of a line, whether it has an odd number of them, so that a field of a table begins or ends in it.
    """

    why: str
    lines: int = 1
    odd_quotes: bool = False


ReadRecord = tuple[str, dict[str, str] | Malformed]


def lines(path: Path) -> Iterator[tuple[int, str | Malformed]]:
    """The lines of a UTF-8 file by number, without their ends, in bounded memory."""
    with _open(path) as file:
        number = 0
        while raw := file.readline(LONGEST_LINE + 1):
            number += 1
            if number == 1 and (other := _OTHER_FILES.get(raw[:2])):
                yield 1, Malformed(other)
                return
            quotes = raw.count(b'"')
            if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
                while rest := file.readline(LONGEST_LINE):
                    quotes += rest.count(b'"')
                    if rest.endswith(b"\n"):
                        break
                yield number, Malformed(f"longer than {LONGEST_LINE:,} bytes", 1, quotes % 2 == 1)
                continue
            raw = raw.removeprefix(_BOM)  # also where files were joined
            try:
                line = raw.decode()
            except UnicodeDecodeError as error:
                yield number, Malformed(f"not UTF-8 at byte {error.start + 1}", 1, quotes % 2 == 1)
                continue
            nul = Malformed("a NUL byte", 1, quotes % 2 == 1)
            yield number, nul if "\0" in line else line.rstrip("\r\n")


def _damage(part: Iterable[str | Malformed], first: int) -> Malformed | None:
    """A record of several lines from ``first`` on, one of which is malformed; it is left out as a whole."""
    found = list(part)
    for number, line in enumerate(found, first):
        if isinstance(line, Malformed):
            where = f" (line {number})" if len(found) > 1 else ""
            return Malformed(line.why + where, len(found))
    return None


def text(path: Path) -> Iterator[ReadRecord]:
    """The documents of a plain text: the file, or, of a longer one, parts of `DOCUMENT` characters and more."""
    part: list[str | Malformed] = []
    first, size = 1, 0
    for number, line in lines(path):
        part.append(line)
        size += 1 if isinstance(line, Malformed) else len(line) + 1
        if size >= DOCUMENT:
            yield from _document(path, first, part)
            part, first, size = [], number + 1, 0
    yield from _document(path, first, part)


def _document(path: Path, first: int, part: list[str | Malformed]) -> Iterator[ReadRecord]:
    if damage := _damage(part, first):
        yield f"{path}:{first}", damage
    elif any(line.strip() for line in part if isinstance(line, str)):
        yield f"{path}:{first}", {"text": "\n".join(map(str, part)).strip("\n")}


def classes(folder: Path) -> Iterator[ReadRecord]:
    """The documents of a folder that has one folder of texts for each class: ``FOLDER/CLASS/FILE``."""
    found = files_of_classes(folder)
    if len(names := {name for name, _ in found}) < 2:
        raise DataError(
            f"{folder} has {len(names)} folders of texts, and every class is one: put the texts of each class into "
            "FOLDER/CLASS/"
        )
    for name, path in found:
        whole = [line for _, line in lines(path)]
        if damage := _damage(whole, 1):
            yield f"{path}:1", damage
            continue
        text_lines = [str(line) for line in whole]
        first = next((number for number, line in enumerate(text_lines, 1) if line.strip()), 1)
        yield f"{path}:{first}", {"text": "\n".join(text_lines).strip(), "label": name}


def files_of_classes(folder: Path) -> list[tuple[str, Path]]:
    """The files of a folder that are not hidden, each after its class."""
    found = [(path.relative_to(folder).parts, path) for path in files_below(folder)]
    return [(names[0], path) for names, path in found if len(names) > 1 and "." not in (names[0][0], names[-1][0])]


def jsonl(path: Path, fields: Iterable[str], names: Iterable[str] = ()) -> Iterator[ReadRecord]:
    """JSON objects, one a line, or as one list, where ``FILE:5`` is the fifth; blank lines are skipped."""
    for place, value in _values(path):
        record = chosen(value, fields, names) if isinstance(value, dict) else value
        yield f"{path}:{place}", record if isinstance(record, dict | Malformed) else Malformed("no JSON object")


def _values(path: Path) -> Iterator[tuple[int, Any]]:
    with _open(path) as file:
        is_list = file.read(2**12).removeprefix(_BOM).lstrip().startswith(b"[")
    if is_list:
        value = _parsed(decoded(path.read_bytes().removeprefix(_BOM)))
        yield from enumerate(value if isinstance(value, list) else [value], 1)
    else:
        yield from (
            (number, _parsed(line)) for number, line in lines(path) if isinstance(line, Malformed) or line.strip()
        )


def _parsed(text: str | Malformed) -> Any:
    """The value of a JSON text; Malformed in the place of it, or of an object in it, that cannot be used."""
    if isinstance(text, Malformed):
        return text
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        return Malformed(f"no JSON ({error.msg}{f' in line {error.lineno}' * (error.lineno > 1)})")
    except (ValueError, RecursionError) as error:
        return Malformed(f"no JSON ({error})")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Malformed:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return Malformed(f"an object with the key {key!r} more than once")


def table(path: Path, fields: Iterable[str]) -> Iterator[ReadRecord]:
    """A table whose first line names its fields; DataError where it cannot, and for one that is missing or twice.

    Fields are parted by tabs in a .tsv, else by the first of comma, semicolon and tab by which the first line has most
    of ``fields``, or that it has.
    A record may have several lines. A malformed one stands in it as a quote or as nothing: what is left of it tells
    where its record ends, which is left out as a whole.
    """
    part: list[str | Malformed] = []

    def text_lines() -> Iterator[str]:
        for _, line in lines(path):
            part.append(line)
            yield ('"' * line.odd_quotes if isinstance(line, Malformed) else line) + "\n"

    marks = "\t" if path.suffix.lower() == ".tsv" else ",;\t"
    first_line = str(next(lines(path), (1, ""))[1])
    mark = max(marks, key=lambda m: (len({*fields} & {*first_line.replace('"', "").split(m)}), m in first_line))
    reader = csv.reader(text_lines(), strict=True, delimiter=mark)
    try:
        names = _next_values(reader)
    except StopIteration:
        names = []
    except csv.Error as error:
        raise DataError(f"{path}:1 names the fields, and is no CSV ({error}): mend it{_LINE_ENDS}") from None
    if damage := _damage(part, 1):
        raise DataError(f"{path}:1 names the fields, and cannot be used ({damage.why}): mend it{_LINE_ENDS}")
    check_fields(path, names, fields)
    damage, first = None, 1
    while True:
        first += len(part)
        part.clear()
        try:
            values = _next_values(reader)
        except StopIteration:
            break
        except csv.Error as error:  # a stray quote takes every line up to the next one
            for number, line in enumerate(part, first):
                yield f"{path}:{number}", line if isinstance(line, Malformed) else Malformed(f"no CSV ({error})")
            continue
        if damage and sum(str(line).count('"') for line in part) % 2:  # the quote that began it was what was damaged
            damage = Malformed("a quote without another one, after a damaged record", len(part))
        else:
            damage = _damage(part, first)
        if damage:
            yield f"{path}:{first}", damage
        elif values == names:
            yield f"{path}:{first}", Malformed("the names of the fields once more")
        elif values and len(values) != len(names):
            yield f"{path}:{first}", Malformed(f"{len(values)} fields, and the first line names {len(names)}")
        elif values:
            yield f"{path}:{first}", chosen(dict(zip(names, values)), fields)


def _next_values(reader: Iterator[list[str]]) -> list[str]:
    """The next row of a CSV reader, whose fields may have `LONGEST_LINE` characters; the limit is the process's."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        return next(reader)
    finally:
        csv.field_size_limit(before)


def chosen(row: dict[str, Any], fields: Iterable[str], names: Iterable[str] = ()) -> dict[str, str] | Malformed:
    """The fields of a row, which are texts, maybe empty; those among ``names`` may be whole numbers too. A field of
    another one is named ``outer.inner``.
    """
    found = {}
    for name in fields:
        value = _member(row, name)
        if isinstance(value, Malformed):
            return Malformed(f"field {name!r} is {value.why}")
        if value is None and name in row:
            return Malformed(f"field {name!r} is null")
        if value is None:
            return Malformed(f"no field {name!r} (it has {shown(row)})")
        if not isinstance(value, str) and not (type(value) is int and name in names):
            kind = _KINDS.get(type(value), f"of type {type(value).__name__}")
            return Malformed(f"field {name!r} is {kind}, not a text{' or a whole number' * (name in names)}")
        word = str(value).strip()
        if len(word) > LONGEST_LINE:
            return Malformed(f"field {name!r} is longer than {LONGEST_LINE:,} characters")
        if "\0" in word or (not word.isprintable() and _has_surrogate(word)):
            return Malformed(f"field {name!r} has a NUL byte or half a character")
        found[name] = word
    return found


def _member(row: dict[str, Any], name: str) -> Any:
    outer, dot, inner = name.partition(".")
    if name in row or not dot:
        return row.get(name)
    return _member(row[outer], inner) if isinstance(row.get(outer), dict) else None


_KINDS = {int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}


def decoded(value: bytes) -> str | Malformed:
    """A value of UTF-8 as text."""
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        return Malformed(f"not UTF-8 at byte {error.start + 1}")


def _has_surrogate(word: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in word)


def shown(names: Iterable[str]) -> str:
    """Names that a file has, as a message shows them: escaped, cut, and the first of many."""
    found = [repr(name)[1:-1][:60] for name in names]
    return ", ".join(found[:20] + ["..."] * (len(found) > 20)) or "none"


def check_fields(path: Path, names: list[str], fields: Iterable[str]) -> None:
    """DataError for a field that a file lacks, or has twice."""
    missing = [name for name in fields if name not in names]
    if missing:
        raise DataError(f"{path} has no field {missing[0]!r}: it has {shown(names)}")
    if twice := [name for name in fields if names.count(name) > 1]:
        raise DataError(f"{path} has {names.count(twice[0])} fields {twice[0]!r}: rename all but one of them")


def _open(path: Path) -> Any:
    if not path.is_file():
        raise DataError(f"{path} is no file" if path.exists() else f"there is no file {path}")
    return path.open("rb")


def read_file(path: Path) -> str:
    """The text of a file; DataError when it is none."""
    text = text_of(path.read_bytes(), str(path))
    if not text.strip():
        raise DataError(f"{path} is empty: it has no text to read")
    return text


def text_of(data: bytes, name: str) -> str:
    """Bytes of UTF-8 as text with the line ends of corpora."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is no UTF-8 text ({error}): save it as UTF-8") from None
    return "\n".join(line.rstrip("\r") for line in text.split("\n"))
