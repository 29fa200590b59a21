"""Rows from files of the user's: plain text, JSON lines, CSV, Parquet, and folders that Hugging Face datasets saved.

Every reader yields ``(place, fields)`` for what can be used, and ``(place, Malformed(why))`` for what cannot; a place
is ``FILE:LINE``, of a Parquet file ``FILE:ROW``, from 1 on. Files are read, never changed. A field is a text; those
that are ``names``, of classes and documents, may be whole numbers too.
"""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora.corpus import DataError
from posenc_jax.extras import needed

LONGEST_LINE = 2**20
"""Bytes of a line, and characters of a field: longer ones are malformed."""
DOCUMENT = 2**14
"""Characters from which on a text file is cut, at the end of a line, into several documents."""
_LINE_ENDS = ", or save the table as CSV in UTF-8, with lines that end in LF or CRLF"


@dataclasses.dataclass(frozen=True)
class Malformed:
    """What cannot be used, and why; of how many lines of its file it is."""

    why: str
    lines: int = 1


Record = tuple[str, dict[str, str] | Malformed]


def lines(path: Path) -> Iterator[tuple[int, str | Malformed]]:
    """The lines of a UTF-8 file by number, without their ends, in bounded memory."""
    with _open(path) as file:
        number = 0
        while raw := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield number, Malformed(f"longer than {LONGEST_LINE:,} bytes")
                continue
            raw = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
            try:
                line = raw.decode()
            except UnicodeDecodeError as error:
                yield number, Malformed(f"not UTF-8 at byte {error.start + 1}")
                continue
            yield number, Malformed("a NUL byte") if "\0" in line else line.rstrip("\r\n")


def text(path: Path) -> Iterator[Record]:
    """The documents of a plain text: the file, or, of a longer one, parts of `DOCUMENT` characters and more."""
    part: list[str] = []
    first, size = 1, 0
    for number, line in lines(path):
        if isinstance(line, Malformed):
            yield f"{path}:{number}", line
            continue
        part.append(line)
        size += len(line) + 1
        if size >= DOCUMENT:
            yield from _document(f"{path}:{first}", part)
            part, first, size = [], number + 1, 0
    yield from _document(f"{path}:{first}", part)


def _document(place: str, part: list[str]) -> Iterator[Record]:
    if any(line.strip() for line in part):
        yield place, {"text": "\n".join(part).strip("\n")}


def classes(folder: Path) -> Iterator[Record]:
    """The documents of a folder that has one folder of texts for each class: ``FOLDER/CLASS/FILE``."""
    found = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(".")]
    if len(found) < 2:
        raise DataError(
            f"{folder} has {len(found)} folders, and every class is one: put the texts of each class into FOLDER/CLASS/"
        )
    for inner in found:
        for path in sorted(path for path in inner.rglob("*") if path.is_file() and not path.name.startswith(".")):
            whole: list[str] = []
            for number, line in lines(path):
                if isinstance(line, Malformed):
                    yield f"{path}:{number}", line
                whole.append("" if isinstance(line, Malformed) else line)  # so that numbers of lines stay
            first = next((number for number, line in enumerate(whole, 1) if line.strip()), 1)
            yield f"{path}:{first}", {"text": "\n".join(whole).strip(), "label": inner.name}


def jsonl(path: Path, fields: Iterable[str], names: Iterable[str] = ()) -> Iterator[Record]:
    """A JSON object a line, each of its keys once; blank lines are skipped."""
    for number, line in lines(path):
        place = f"{path}:{number}"
        if isinstance(line, Malformed):
            yield place, line
        elif line.strip():
            try:
                value = json.loads(line, object_pairs_hook=_object)
            except _TwiceError as error:
                yield place, Malformed(f"the key {error} stands there more than once")
                continue
            except (ValueError, RecursionError) as error:
                yield place, Malformed(f"no JSON ({error.msg if isinstance(error, json.JSONDecodeError) else error})")
                continue
            yield place, chosen(value, fields, names) if isinstance(value, dict) else Malformed("no JSON object")


class _TwiceError(ValueError):
    """An object in JSON has a key more than once; the message is the key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(repr(next(key for key in keys if keys.count(key) > 1)))
    return found


def table(path: Path, fields: Iterable[str]) -> Iterator[Record]:
    """A CSV file whose first line names its fields; DataError where it cannot, and for one that is missing or twice."""
    malformed: dict[int, Malformed] = {}
    seen = 0

    def text_lines() -> Iterator[str]:
        nonlocal seen
        for seen, line in lines(path):
            if isinstance(line, Malformed):
                malformed[seen] = line
            else:
                yield line + "\n"

    reader = csv.reader(text_lines(), strict=True)
    try:
        names = _next_values(reader)
    except StopIteration:
        names = []
    except csv.Error as error:
        raise DataError(f"{path}:1 names the fields, and is no CSV ({error}): mend it{_LINE_ENDS}") from None
    if 1 in malformed:  # then another line stood in its place
        raise DataError(f"{path}:1 names the fields, and cannot be used ({malformed[1].why}): mend it{_LINE_ENDS}")
    _check_fields(path, names, fields)
    while True:
        first = seen + 1
        try:
            values = _next_values(reader)
        except StopIteration:
            break
        except csv.Error as error:  # a stray quote takes every line up to the next one
            for number in range(first, seen + 1):
                yield f"{path}:{number}", Malformed(f"no CSV ({error})")
            continue
        if values and len(values) != len(names):
            yield f"{path}:{first}", Malformed(f"{len(values)} fields, and the first line names {len(names)}")
        elif values:
            yield f"{path}:{first}", chosen(dict(zip(names, values)), fields)
    for number, why in malformed.items():
        yield f"{path}:{number}", why


def _next_values(reader: Iterator[list[str]]) -> list[str]:
    """The next row of a CSV reader, whose fields may have `LONGEST_LINE` characters; the limit is the process's."""
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        return next(reader)
    finally:
        csv.field_size_limit(before)


def parquet(path: Path, fields: tuple[str, ...], names: tuple[str, ...] = ()) -> Iterator[Record]:
    """A Parquet file."""
    with needed("report", "a Parquet file"):
        import pyarrow
        import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        _check_fields(path, file.schema_arrow.names, fields)
        batches = file.iter_batches(columns=list(fields))
        yield from _rows(path, (batch.to_pylist() for batch in batches), fields, names=names)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{path} is no Parquet file that can be read: {_first_line(error)}") from None


def saved(folder: Path, fields: tuple[str, ...], names: tuple[str, ...] = ()) -> dict[str, Iterator[Record]]:
    """A folder that Hugging Face datasets saved (``save_to_disk``): rows by split, "" where it has none."""
    with needed("report", "a folder of Hugging Face datasets"):
        import pyarrow.ipc

    splits = {"": folder}
    if (folder / "dataset_dict.json").is_file():
        splits = {name: folder / name for name in _names(folder / "dataset_dict.json", "splits")}

    def rows(home: Path) -> Iterator[Record]:
        labels = _labels(home)
        for name in _names(home / "state.json", "_data_files"):
            try:
                with pyarrow.OSFile(str(home / name)) as file, pyarrow.ipc.open_stream(file) as reader:
                    _check_fields(home / name, reader.schema.names, fields)
                    batches = (batch.select(list(fields)).to_pylist() for batch in reader)
                    yield from _rows(home / name, batches, fields, labels, names)
            except (pyarrow.ArrowException, OSError) as error:
                raise DataError(f"{home / name} cannot be read: {_first_line(error)}") from None

    if not (next(iter(splits.values()), folder) / "state.json").is_file():
        raise DataError(f"{folder} has no state.json: name the folder that Dataset.save_to_disk wrote")
    return {name: rows(home) for name, home in splits.items()}


def _rows(
    path: Path,
    batches: Iterable[list[dict[str, Any]]],
    fields: Iterable[str],
    labels: dict[str, list[str]] | None = None,
    names: Iterable[str] = (),
) -> Iterator[Record]:
    number = 0
    for batch in batches:
        for row in batch:
            number += 1
            yield f"{path}:{number}", _labelled(row, fields, labels or {}, names)


def _labelled(
    row: dict[str, Any], fields: Iterable[str], labels: dict[str, list[str]], names: Iterable[str]
) -> dict[str, str] | Malformed:
    """The fields of a row, numbers of classes by their names."""
    for name, classes in labels.items():
        if name in fields and isinstance(row.get(name), int):
            if not 0 <= row[name] < len(classes):
                return Malformed(f"field {name!r} is unlabelled ({row[name]})")
            row[name] = classes[row[name]]
    return chosen(row, fields, names)


def _names(path: Path, field: str) -> list[str]:
    """Names of files or folders beside a file that lists them; DataError for what leads elsewhere."""
    listed = _json(path).get(field)
    names: list[Any] = []
    if isinstance(listed, list):
        names = [one.get("filename") if isinstance(one, dict) else one for one in listed]
    if not names or not all(isinstance(name, str) and name == Path(name).name for name in names):
        raise DataError(f"{path} names no files beside it ({field} = {listed!r}): save the data set again")
    return names


def _labels(home: Path) -> dict[str, list[str]]:
    """The names of the classes that numbers stand for."""
    path = home / "dataset_info.json"
    features = _json(path).get("features") if path.is_file() else None
    return {
        name: [str(word) for word in feature["names"]]
        for name, feature in (features or {}).items()
        if isinstance(feature, dict) and isinstance(feature.get("names"), list)
    }


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read ({error}): save the data set again") from None
    if not isinstance(found, dict):
        raise DataError(f"{path} holds no JSON object: save the data set again")
    return found


def chosen(row: dict[str, Any], fields: Iterable[str], names: Iterable[str] = ()) -> dict[str, str] | Malformed:
    """The fields of a row, which are texts, maybe empty; those among ``names`` may be whole numbers too."""
    found = {}
    for name in fields:
        value = row.get(name)
        if value is None and name in row:
            return Malformed(f"field {name!r} is null")
        if value is None:
            return Malformed(f"no field {name!r} (it has {', '.join(map(str, row)) or 'none'})")
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


_KINDS = {int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "an object"}


def _has_surrogate(word: str) -> bool:
    return any("\ud800" <= letter <= "\udfff" for letter in word)


def _check_fields(path: Path, names: list[str], fields: Iterable[str]) -> None:
    missing = [name for name in fields if name not in names]
    if missing:
        raise DataError(f"{path} has no field {missing[0]!r}: it has {', '.join(names) or 'none'}")
    if twice := [name for name in fields if names.count(name) > 1]:
        raise DataError(f"{path} has {names.count(twice[0])} fields {twice[0]!r}: rename all but one of them")


def _open(path: Path) -> Any:
    if not path.is_file():
        raise DataError(f"{path} is no file" if path.exists() else f"there is no file {path}")
    return path.open("rb")


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
