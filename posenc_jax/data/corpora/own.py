"""Corpora of the user's own texts: read, counted, split without a leak, kept as data sets of TensorFlow Datasets."""

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from posenc_jax.data.corpora import arrow, reading
from posenc_jax.data.corpora.corpus import SPLITS, DataError, Row, Rows, files_below
from posenc_jax.data.corpora.fields import Fields, digest_of, words_of
from posenc_jax.data.corpora.reading import Malformed, ReadRecord
from posenc_jax.data.corpora.store import LEFT_OUT, OWN, Note, add
from posenc_jax.data.documents import SUFFIXES, NotNested, document_parts
from posenc_jax.files.checksums import sha256_of_files

# Split: rows with their locations.
Located = dict[str, list[tuple[str, Row]]]
Format = Literal["text", "jsonl", "csv", "parquet", "folder", "saved"]
# The share of the documents that validation has, and that testing has, where no files are given for them.
HELD_OUT = 0.04
# The share of records (of plain texts: of lines) that may be left out as malformed, unless another one is stated.
MOST_MALFORMED = 0.01
_NAMED = 5  # malformed records that a message names
_NAMED_WHEN_REFUSED = 20
_REASONS = 5  # that a refusal counts
_SAME_NAMES = {"validation": ("validation", "valid", "dev"), "test": ("test",), "train": ("train", "")}


@dataclasses.dataclass(frozen=True)
class Taken:
    """Counts of the records of a corpus: kept and left out.

    Attributes:
      rows: by split.
      repeated: how many stood there twice and were left out.
      leaking: how many were left out of a split because a held-out row has their text.
      malformed: (location, why), one for each record.
      unused: splits of other names.
      lost: in words, how many records the malformed ``are``, of plain texts with their lines.
      origins: text -> location, of texts with a class.
    """

    rows: Rows
    repeated: int = 0
    leaking: int = 0
    malformed: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    lost: str = ""
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)


def records(form: Format, paths: Iterable[Path], fields: Fields) -> dict[str, Iterator[ReadRecord]]:
    """The records of the files, by split as far as they have splits; "" where they have none.

    Errors: DataError for a file that is not there, or has not the fields.
    """
    read, names = fields.read, fields.names
    if form == "saved":
        (folder,) = paths
        files_below(folder)  # which refuses what leads out of it, or never ends
        return arrow.saved(folder, read, names)
    readers: dict[str, Callable[[Path], Iterator[ReadRecord]]] = {
        "text": reading.text,
        "folder": reading.classes,
        "jsonl": lambda path: reading.jsonl(path, read, names),
        "csv": lambda path: reading.table(path, read),
        "parquet": lambda path: arrow.parquet(path, read, names),
    }
    return {"": (record for path in paths for record in readers[form](path))}


def take(
    found: Mapping[str, Iterable[ReadRecord]],
    fields: Fields,
    most_malformed: float = MOST_MALFORMED,
    *,
    of_many_lines: bool = False,
) -> Taken:
    """Rows by split: the given splits, or those by the hash of the document, and none of a text in two of them.

    ``of_many_lines``: whether a record counts as the lines that it has (plain texts), and not as one.

    Errors: DataError for a larger share of malformed records than ``most_malformed``, for too few documents, and for
    given splits that share a text.
    """
    malformed: list[tuple[str, str]] = []
    rows: Located = {}
    total, lost = 0, list[int]()
    for name, part in found.items():
        own = rows.setdefault(_split_name(name), [])
        if _split_name(name) not in SPLITS:  # which is not used, whatever stands there
            continue
        for location, record in part:
            if isinstance(record, Malformed):
                lines, why = record.lines, record.why
            else:
                lines, why = record["text"].count("\n") + 1 if of_many_lines else 1, fields.lacking(record)
            total += lines if of_many_lines else 1
            if why:
                lost.append(lines if of_many_lines else 1)
                malformed.append((location, why))
            elif isinstance(record, dict):
                own.append((location, fields.row(record, location)))
    if sum(lost) > most_malformed * total:
        unit = "lines" if of_many_lines else "records"
        raise DataError(
            f"{sum(lost):,} of {total:,} {unit} cannot be used ({_refused(malformed)}), and {most_malformed:.2%} "
            "may be: mend them, or state a larger share with --most-malformed"
        )
    kept, repeated = _without_repeats(rows)
    unused = tuple(split for split in kept if split not in SPLITS)
    kept = {split: part for split, part in kept.items() if split in SPLITS}
    if not kept.get("train"):
        raise DataError(
            "there is no text to train on in what was named: name other files, or a data set with a train split"
        )
    if fields.document:
        _refuse_same(kept, "document", lambda row: row["doc"])
    _refuse_same(kept, "text", lambda row: words_of(fields.input_of(row)))
    leaking = 0
    if set(kept) != set(SPLITS):
        kept, leaking = _held_out(kept, fields)
    words = _lost(lost) if of_many_lines else _counted(len(lost), "record")
    origins = {}
    if fields.text and fields.label:
        origins = {fields.input_of(row): location for part in kept.values() for location, row in part}
    of_splits = {split: [row for _, row in kept[split]] for split in SPLITS}
    return Taken(of_splits, repeated, leaking, tuple(malformed), unused, words, origins)


def add_files(
    name: str,
    form: Format,
    paths: Mapping[str, Iterable[Path]],
    fields: Fields,
    facts: dict[str, Any],
    structure: str | None = None,
    most_malformed: float = MOST_MALFORMED,
    **options: Any,
) -> Path:
    """Reads the files of each split and keeps their rows as the corpus ``own/NAME``; ``options`` as for `add_own`.

    Args:
      structure: of documents, of which those that do not nest are malformed.

    Errors: DataError as `records` and `take`.
    """
    found: dict[str, Iterable[ReadRecord]] = {}
    for split, part in paths.items():
        found |= {inner or split: read for inner, read in records(form, part, fields).items()}
    of_many_lines = form in ("text", "folder")
    if structure:
        found = dict(nested(found, str(fields.text), structure, of_many_lines=of_many_lines))
    taken = take(found, fields, most_malformed, of_many_lines=of_many_lines)
    facts = {**facts, "read_as": form, "sources": {str(p): sha256_of_files(p) for part in paths.values() for p in part}}
    if structure:
        facts["structure"] = structure
    elif form == "folder" and (named_as := structure_of(next(iter(paths["train"])))):
        facts["named_as"] = named_as
    return add_own(name, taken, fields, facts, **options)


def add_own(name: str, taken: Taken, fields: Fields, facts: dict[str, Any], **options: Any) -> Path:
    """Keeps the rows as the corpus ``own/NAME``; ``options`` as for `posenc_jax.data.corpora.store.add`."""
    note: Note = options.get("note", print)
    if taken.unused:
        note(f"not used: the splits {', '.join(taken.unused)}")
    if taken.repeated:
        note(f"{_counted(taken.repeated, 'row')} left out, which repeat{'s' * (taken.repeated == 1)} another one")
    if taken.leaking:
        note(f"{_counted(taken.leaking, 'row')} left out of a split, because a held-out one has their text too")
    counts = {"malformed": len(taken.malformed), "repeated": taken.repeated, "leaking": taken.leaking}
    facts = {"kind": fields.kind, "left_out": counts, **facts}
    kept: dict[str, Any] = {"origins": taken.origins, "left_out": taken.malformed}
    home = add(f"{OWN}{name}", taken.rows, fields.columns, facts, **kept, **options)
    if taken.malformed:
        note(f"{taken.lost} left out: {listed(taken.malformed)}; each is named in {home / LEFT_OUT}")
    return home


def _counted(count: int, what: str) -> str:
    return f"1 {what} is" if count == 1 else f"{count:,} {what}s are"


def _lost(lines: list[int]) -> str:
    """A count of documents and of their lines, in words, with the verb ``are``."""
    count, total = len(lines), sum(lines)
    of = f" of {'together ' * (count > 1)}{total:,} lines" if total > count else ""
    return f"{count:,} document{'s' * (count != 1)}{of} {'is' if count == 1 else 'are'}"


def _split_name(name: str) -> str:
    return next((split for split, names in _SAME_NAMES.items() if name in names), name)


def _without_repeats(rows: Located) -> tuple[Located, int]:
    """Each row once in its split."""
    kept: Located = {}
    for split, part in rows.items():
        seen: set[tuple[str, ...]] = set()
        kept[split] = []
        for location, row in part:
            key = tuple(text for column, text in row.items() if column != "doc")
            if key not in seen:
                seen.add(key)
                kept[split].append((location, row))
    return kept, sum(map(len, rows.values())) - sum(map(len, kept.values()))


def _refuse_same(kept: Located, what: str, key_of: Callable[[Row], str]) -> None:
    locations: dict[str, tuple[str, str]] = {}
    shared: list[tuple[str, str]] = []
    for split in SPLITS:
        for location, row in kept.get(split, ()):
            before = locations.setdefault(key_of(row), (split, location))
            if before[0] != split:
                shared.append((location, before[1]))
    if shared:
        raise DataError(
            f"{len(shared):,} rows of one split have the {what} of another one ({shared[0][0]} that of "
            f"{shared[0][1]}): leave them out of one of the files, or give one file alone, which is then split"
        )


def _held_out(kept: Located, fields: Fields) -> tuple[Located, int]:
    """The splits that are missing, made of the documents of training that come first by their hash."""
    given = {split: list(part) for split, part in kept.items() if split != "train"}
    rows = kept.get("train", [])
    missing = [split for split in ("test", "validation") if split not in given]
    documents = sorted({row["doc"] for _, row in rows}, key=lambda name: (digest_of(name), name))
    if len(documents) < (fewest := len(missing) + 1):
        has = "1 document is" if len(documents) == 1 else f"{len(documents)} documents are"
        raise DataError(
            f"{has} too few for the splits train, {' and '.join(missing)}, which take {fewest} at least, and some "
            "hundred to learn from: give more text, or files of their own with --validation and --test"
        )
    count = max(1, round(HELD_OUT * len(documents)))
    split_of: dict[str, str] = {}
    for number, split in enumerate(missing):
        split_of |= dict.fromkeys(documents[number * count : (number + 1) * count], split)
    found: Located = {split: given.get(split, []) for split in SPLITS}
    for location, row in rows:
        found[split_of.get(row["doc"], "train")].append((location, row))
    return _without_leaks(found, fields)


def _without_leaks(found: Located, fields: Fields) -> tuple[Located, int]:
    """Without rows of training or validation whose text a split after them has."""
    seen: set[str] = set()
    kept: Located = {}
    for split in reversed(SPLITS):
        words = [words_of(fields.input_of(row)) for _, row in found[split]]
        kept[split] = [one for one, own in zip(found[split], words, strict=True) if own not in seen]
        seen.update(words)
        if not kept[split]:
            raise DataError(f"the split {split} has no row of its own: the texts are too few, or too much alike")
    leaking = sum(len(part) for part in found.values()) - sum(len(part) for part in kept.values())
    return {split: kept[split] for split in SPLITS}, leaking


def listed(malformed: Iterable[tuple[str, str]], named: int = _NAMED) -> str:
    """The first few, each as ``FILE:LINE (why)``, and how many more."""
    each = [f"{location} ({why})" for location, why in malformed]
    return ", ".join(each[:named]) + (f" and {len(each) - named:,} more" if len(each) > named else "")


def _refused(malformed: list[tuple[str, str]]) -> str:
    """The first of many, and how many there are of each reason where some are not named."""
    found = listed(malformed, _NAMED_WHEN_REFUSED)
    if len(malformed) <= _NAMED_WHEN_REFUSED:
        return found
    reasons = Counter(re.split(r" \(| at byte ", why)[0] for _, why in malformed).most_common()
    counts = [f"{count:,} {reason}" for reason, count in reasons[:_REASONS]]
    others = sum(count for _, count in reasons[_REASONS:])
    return f"{found}; by reason: {', '.join([*counts, *[f'{others:,} others'] * bool(others)])}"


def nested(
    found: Mapping[str, Iterable[ReadRecord]], field: str, structure: str, *, of_many_lines: bool
) -> dict[str, Iterator[ReadRecord]]:
    """The records by split; malformed too is one whose ``field`` does not nest as a document of that structure.

    Args:
      of_many_lines: as for `take`; the location is then that of the line within the file.
    """

    def checked(location: str, record: dict[str, str] | Malformed) -> ReadRecord:
        if isinstance(record, Malformed):
            return location, record
        try:
            document_parts(record[field], structure, location)
        except NotNested as error:
            location, why = error.at(location, of_many_lines=of_many_lines)
            return location, Malformed(why, record[field].count("\n") + 1 if of_many_lines else 1)
        return location, record

    return {split: (checked(*one) for one in part) for split, part in found.items()}


def structure_of(folder: Path) -> str | None:
    """The structure that the names of all files in a folder say, None where they say none or several."""
    said = {SUFFIXES.get(path.suffix.lower()) for _, path in reading.files_of_classes(folder)}
    return said.pop() if len(said) == 1 else None
