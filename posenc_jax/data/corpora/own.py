"""Corpora of the user's own texts: read, counted, split without a leak, kept as data sets of TensorFlow Datasets."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from posenc_jax.data.corpora import reading
from posenc_jax.data.corpora.corpus import SPLITS, DataError, Kind, Row, Rows
from posenc_jax.data.corpora.debian import Note
from posenc_jax.data.corpora.reading import Malformed, Record
from posenc_jax.data.corpora.source import UnlabelledError, quiet, text_of
from posenc_jax.data.corpora.store import LEFT_OUT, OWN, add

Format = Literal["text", "jsonl", "csv", "parquet", "folder", "saved"]
HELD_OUT = 0.04
"""The share of the documents that validation has, and that testing has, where no files are given for them."""
MOST_MALFORMED = 0.01
"""The share of lines that may be left out as malformed, unless another one is stated."""
_NAMED = 5  # malformed lines that a message names
_NAMED_WHEN_REFUSED = 20
_REASONS = 5  # that a refusal counts
_SAME_NAMES = {"validation": ("validation", "valid", "dev"), "test": ("test",), "train": ("train", "")}


@dataclasses.dataclass(frozen=True)
class Fields:
    """Which fields of a row are read, by their names in the file.

    text: the text itself, of a class where ``label`` is given too. sections: in its place the sections of a document
    with a class, which keep their names as columns. source, target: the two sides of a pair, which keep
    their names as columns. document: what says which rows belong together, so that no document is in two splits.
    """

    text: str | None = None
    label: str | None = None
    source: str | None = None
    target: str | None = None
    document: str | None = None
    sections: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sections:
            self._check_sections()
            return
        pair, text = (self.source, self.target), (self.text, self.label)
        if any(pair) == any(text) or (any(pair) and not all(pair)) or (self.label and not self.text):
            raise DataError(
                "name the fields to read: --source F --target F for pairs, --field F for texts, --field F --label F "
                "for texts with classes, --field F F ... --label F for documents in sections"
            )
        if len(set(self.read)) < len(self.read):
            raise DataError(f"two of the fields have one name: {', '.join(self.read)}")
        if taken := {"doc"} & set(pair):
            raise DataError(f"a side of a pair cannot be called {taken.pop()!r}, which is the document's: rename it")

    def _check_sections(self) -> None:
        if not self.label or self.text or self.source or self.target:
            raise DataError("documents in sections are for classification: name their class with --label F")
        if len(set(self.read)) < len(self.read):
            raise DataError(f"two of the fields have one name: {', '.join(self.read)}")
        if taken := {"doc", "label"} & set(self.sections):
            raise DataError(f"a section cannot be called {taken.pop()!r}, which is a column of its own: rename it")

    @property
    def read(self) -> tuple[str, ...]:
        """The fields that are there, in a fixed order."""
        return tuple(filter(None, (self.source, self.target, self.text, *self.sections, self.label, self.document)))

    @property
    def names(self) -> tuple[str, ...]:
        """Those that name something, a class or a document, and may be whole numbers."""
        return tuple(filter(None, (self.label, self.document)))

    def lacking(self, record: Mapping[str, str]) -> str:
        """What is empty and must not be, "" if nothing: some sections of a document may be, not all."""
        empty = [name for name in self.read if name in record and not record[name].strip()]
        if self.sections and not set(self.sections) <= set(empty):
            empty = [name for name in empty if name not in self.sections]
        return f"field {empty[0]!r} is empty" if empty else ""

    @property
    def kind(self) -> Kind:
        """What the corpus is for."""
        return "pairs" if self.source else "classification" if self.label else "text"

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the corpus."""
        if self.source and self.target:
            return (self.source, self.target, "doc")
        if self.sections:
            return (*self.sections, "label", "doc")
        return ("header", "body", "footer", "label", "doc") if self.label else ("text", "doc")

    def input_of(self, row: Row) -> str:
        """What a model reads of a row, all of it."""
        if self.sections:
            return "\n".join(row[name] for name in self.sections)
        return row[self.columns[1] if self.kind == "classification" else self.columns[0]]

    def row(self, record: Mapping[str, str], place: str) -> Row:
        """A row of the corpus."""
        if self.source and self.target:
            row = {name: record[name] for name in (self.source, self.target)}
        elif self.sections:
            row = {name: record[name] for name in self.sections} | {"label": record[str(self.label)]}
        elif self.label:
            row = {"header": "", "body": record[str(self.text)], "footer": "", "label": record[self.label]}
        else:
            row = {"text": record[str(self.text)]}
        return row | {"doc": record[self.document] if self.document else _digest(self.input_of(row))}


@dataclasses.dataclass(frozen=True)
class Taken:
    """What became of the lines of a corpus.

    Attributes:
      rows: by split. repeated: how many stood there twice and were left out. leaking: how many were left out of a split
        because a held-out row has their text. malformed: (place, why). unused: splits of other names. lost: how many
      lines the malformed are. documents: how many of the malformed are documents of several lines, and how many lines
      those have. origins: text -> place, of texts with a class.
    """

    rows: Rows
    repeated: int = 0
    leaking: int = 0
    malformed: tuple[tuple[str, str], ...] = ()
    unused: tuple[str, ...] = ()
    lost: int = 0
    documents: tuple[int, int] = (0, 0)
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)


def records(form: Format, paths: Iterable[Path], fields: Fields) -> dict[str, Iterator[Record]]:
    """What the files hold, by split as far as they have splits; "" where they have none.

    Errors: DataError for a file that is not there, or has not the fields.
    """
    read, names = fields.read, fields.names
    if form == "saved":
        (folder,) = paths
        return reading.saved(folder, read, names)
    readers: dict[str, Callable[[Path], Iterator[Record]]] = {
        "text": reading.text,
        "folder": reading.classes,
        "jsonl": lambda path: reading.jsonl(path, read, names),
        "csv": lambda path: reading.table(path, read),
        "parquet": lambda path: reading.parquet(path, read, names),
    }
    return {"": (record for path in paths for record in readers[form](path))}


def of_builder(builder: Any, fields: Fields, config: str = "", called: str = "") -> dict[str, Iterator[Record]]:
    """What a builder of TensorFlow Datasets generates, by split; it is prepared in a folder that is then removed.

    ``config`` names one of its configs, "" where there is no choice; ``called`` is how the user calls the builder.

    Errors: DataError for what is no builder, fails, or has not the fields or the config.
    """
    import tensorflow_datasets as tfds

    builder = _builder_class(builder, called)
    name = builder.name if builder.__qualname__ == "Builder" else builder.__qualname__  # TFDS calls most of its own so
    _check_config(name, list(builder.builder_configs), config)
    folder, twice = Path(tempfile.mkdtemp(prefix="posenc-builder-")), list[str]()
    try:
        tfds.disable_progress_bar()
        made = builder(data_dir=folder, config=config or None, file_format="array_record")
        _watch_keys(made, twice)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints sizes that it does not know
            made.download_and_prepare()
        texts = {column: text for column, feature in made.info.features.items() if (text := text_of(feature))}
        if missing := [field for field in fields.read if field not in texts]:
            raise DataError(f"{name} has no text or class {missing[0]!r}: it has {', '.join(texts) or 'none'}")
        found: dict[str, Iterator[Record]] = {}
        for split in made.info.splits:
            source = made.as_data_source(split=split)
            rows = [
                _generated(source[i], {column: texts[column] for column in fields.read}) for i in range(len(source))
            ]
            found[str(split)] = iter([(f"{name}:{split}:{i}", row) for i, row in enumerate(rows, 1)])
        return found
    except DataError:
        raise
    except (Exception, SystemExit) as error:  # whatever the user's builder does
        if twice:
            raise DataError(f"{name} yields the key {twice[0]} twice: give every example a key of its own") from error
        what = (str(error).strip().splitlines() or [""])[0][:200]
        raise DataError(f"{name} cannot be prepared ({type(error).__name__}: {what}): mend it") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watch_keys(builder: Any, twice: list[str]) -> None:
    """Has a builder note in ``twice`` which keys come again, of which TensorFlow Datasets says no more than that."""
    generators = builder._split_generators

    @functools.wraps(generators)
    def watched(*arguments: Any, **options: Any) -> Any:
        found = generators(*arguments, **options)
        if not isinstance(found, Mapping):
            return found
        return {
            split: _noting(examples, split, twice) if isinstance(examples, Iterable) else examples
            for split, examples in found.items()
        }

    builder._split_generators = watched


def _noting(examples: Iterable[Any], split: str, twice: list[str]) -> Iterator[Any]:
    seen = set()
    for key, example in examples:
        if str(key) in seen:
            twice.append(f"{key!r} of the split {split}")
        seen.add(str(key))
        yield key, example


def _builder_class(builder: Any, called: str) -> Any:
    """The class of a builder, which may be a name of TensorFlow Datasets' own that is imported when it is used."""
    import tensorflow_datasets as tfds

    try:
        with quiet():
            found = getattr(builder, "__mro__", (builder,))[0]
    except (Exception, SystemExit) as error:  # whatever its module does
        what = (str(error).strip().splitlines() or [""])[0][:200]
        raise DataError(
            f"{called or 'the builder'} cannot be imported ({type(error).__name__}: {what}): install what it needs"
        ) from error
    if not (isinstance(found, type) and issubclass(found, tfds.core.DatasetBuilder)):
        name = getattr(found, "__qualname__", repr(found))
        raise DataError(f"{name} is no builder: it needs the base class tfds.core.GeneratorBasedBuilder")
    return found


def _check_config(name: str, configs: list[str], config: str) -> None:
    if config and config not in configs:
        choices = f"use one of {', '.join(configs)}" if configs else f"leave out /{config}"
        raise DataError(f"{name} has no config {config!r}: {choices}")
    if len(configs) > 1 and not config:
        raise DataError(f"{name} has the configs {', '.join(configs)}: name one of them, as in Class/{configs[0]}")


def _generated(values: Mapping[str, Any], texts: Mapping[str, Callable[[Any], str]]) -> dict[str, str] | Malformed:
    """The fields of a row of a builder, under the rules for those of files."""
    for name in texts:
        if isinstance(values[name], bytes):
            try:
                values[name].decode()
            except UnicodeDecodeError as error:
                return Malformed(f"field {name!r} is not UTF-8 at byte {error.start + 1}")
    found = {}
    for name, text in texts.items():
        try:
            found[name] = text(values[name])
        except UnlabelledError:
            return Malformed(f"field {name!r} is unlabelled ({values[name]})")
    return reading.chosen(found, texts)


def take(
    found: Mapping[str, Iterable[Record]],
    fields: Fields,
    most_malformed: float = MOST_MALFORMED,
    *,
    of_many_lines: bool = False,
) -> Taken:
    """Rows by split: the given splits, or those by the hash of the document, and none of a text in two of them.

    ``of_many_lines``: whether a record is made of as many lines as it has (plain texts), and not of one.

    Errors: DataError for a larger share of malformed lines than ``most_malformed``, for too few documents, and for
    given splits that share a text.
    """
    malformed: list[tuple[str, str]] = []
    rows: dict[str, list[tuple[str, Row]]] = {}
    total, lost, documents = 0, 0, list[int]()
    for name, part in found.items():
        own = rows.setdefault(_split_name(name), [])
        if _split_name(name) not in SPLITS:  # which is not used, whatever stands there
            continue
        for place, record in part:
            if isinstance(record, Malformed):
                lines, why = record.lines, record.why
            else:
                lines, why = record["text"].count("\n") + 1 if of_many_lines else 1, fields.lacking(record)
            total += lines
            if isinstance(record, Malformed) or why:
                lost += lines
                documents += [lines] * (lines > 1)
                malformed.append((place, why))
            else:
                own.append((place, fields.row(record, place)))
    if lost > most_malformed * total:
        raise DataError(
            f"{lost:,} of {total:,} lines cannot be used ({_refused(malformed)}), and {most_malformed:.2%} "
            "may be: mend them, or state a larger share with --most-malformed"
        )
    kept, repeated = _without_repeats(rows)
    unused = tuple(split for split in kept if split not in SPLITS)
    kept = {split: part for split, part in kept.items() if split in SPLITS}
    if not kept.get("train"):
        raise DataError(
            "there is no text to train on in what was named: name other files, or a data set with a train split"
        )
    _refuse_shared(kept, fields)
    leaking = 0
    if set(kept) != set(SPLITS):
        kept, leaking = _held_out(kept, fields)
    of_documents = len(documents), sum(documents)
    return Taken(_rows(kept), repeated, leaking, tuple(malformed), unused, lost, of_documents, _origins(kept, fields))


def add_own(name: str, taken: Taken, fields: Fields, facts: dict[str, Any], **options: Any) -> Path:
    """Keeps the rows as the corpus ``own/NAME``; ``options`` as for `posenc_jax.data.corpora.store.add`."""
    note: Note = options.get("note", print)
    if taken.unused:
        note(f"not used: the splits {', '.join(taken.unused)}")
    if taken.repeated:
        note(f"{_counted(taken.repeated, 'row')} left out, which repeat{'s' * (taken.repeated == 1)} another one")
    if taken.leaking:
        note(f"{_counted(taken.leaking, 'row')} left out of a split, because a held-out one has their text too")
    counts = {"malformed": taken.lost, "repeated": taken.repeated, "leaking": taken.leaking}
    facts = {"kind": fields.kind, "left_out": counts, **facts}
    home = add(
        f"{OWN}{name}",
        taken.rows,
        fields.columns,
        facts,
        origins=taken.origins,
        left_out=taken.malformed,
        **options,
    )
    if taken.malformed:
        note(f"{_lost(taken)} left out: {listed(taken.malformed)}; each is named in {home / LEFT_OUT}")
    return home


def _counted(count: int, what: str) -> str:
    return f"1 {what} is" if count == 1 else f"{count:,} {what}s are"


def _lost(taken: Taken) -> str:
    """How many lines, and how many documents of several lines, ``are``."""
    count, of_documents = taken.documents
    lines = taken.lost - of_documents
    if not count:
        return _counted(lines, "line")
    found = f"{count:,} document{'s' * (count > 1)} of {'together ' * (count > 1)}{of_documents:,} lines"
    if not lines:
        return f"{found} {'is' if count == 1 else 'are'}"
    return f"{_counted(lines, 'line').rpartition(' ')[0]} and {found} are"


def sha256_of(path: Path) -> str:
    """Of a file, or of the names and contents of all files in a folder."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    total = hashlib.sha256()
    for inner in sorted(inner for inner in path.rglob("*") if inner.is_file()):
        total.update(f"{inner.relative_to(path).as_posix()}\0{sha256_of(inner)}\n".encode())
    return total.hexdigest()


def _split_name(name: str) -> str:
    return next((split for split, names in _SAME_NAMES.items() if name in names), name)


def _without_repeats(rows: Mapping[str, list[tuple[str, Row]]]) -> tuple[dict[str, list[tuple[str, Row]]], int]:
    """Each row once in its split."""
    kept: dict[str, list[tuple[str, Row]]] = {}
    for split, part in rows.items():
        seen: set[tuple[str, ...]] = set()
        kept[split] = []
        for place, row in part:
            key = tuple(text for column, text in row.items() if column != "doc")
            if key not in seen:
                seen.add(key)
                kept[split].append((place, row))
    return kept, sum(map(len, rows.values())) - sum(map(len, kept.values()))


def _refuse_shared(kept: Mapping[str, list[tuple[str, Row]]], fields: Fields) -> None:
    """DataError where two of the given splits have a document, or a text, in common."""
    if fields.document:
        _refuse_same(kept, "document", lambda row: row["doc"])
    _refuse_same(kept, "text", lambda row: _words(fields.input_of(row)))


def _refuse_same(kept: Mapping[str, list[tuple[str, Row]]], what: str, key_of: Callable[[Row], str]) -> None:
    places: dict[str, tuple[str, str]] = {}
    shared: list[tuple[str, str]] = []
    for split in SPLITS:
        for place, row in kept.get(split, ()):
            before = places.setdefault(key_of(row), (split, place))
            if before[0] != split:
                shared.append((place, before[1]))
    if shared:
        raise DataError(
            f"{len(shared):,} rows of one split have the {what} of another one ({shared[0][0]} that of "
            f"{shared[0][1]}): leave them out of one of the files, or give one file alone, which is then split"
        )


def _held_out(
    kept: Mapping[str, list[tuple[str, Row]]], fields: Fields
) -> tuple[dict[str, list[tuple[str, Row]]], int]:
    """The splits that are missing, made of the documents of training that come first by their hash."""
    given = {split: list(part) for split, part in kept.items() if split != "train"}
    rows = kept.get("train", [])
    missing = [split for split in ("test", "validation") if split not in given]
    documents = sorted({row["doc"] for _, row in rows}, key=_digest)
    if len(documents) < len(missing) + 1:
        raise DataError(
            f"{len(documents)} documents are too few for the splits train, {' and '.join(missing)}: give more text, or "
            "files of their own with --validation and --test"
        )
    count = max(1, round(HELD_OUT * len(documents)))
    split_of: dict[str, str] = {}
    for number, split in enumerate(missing):
        split_of |= dict.fromkeys(documents[number * count : (number + 1) * count], split)
    found: dict[str, list[tuple[str, Row]]] = {split: given.get(split, []) for split in SPLITS}
    for place, row in rows:
        found[split_of.get(row["doc"], "train")].append((place, row))
    return _without_leaks(found, fields)


def _without_leaks(
    found: dict[str, list[tuple[str, Row]]], fields: Fields
) -> tuple[dict[str, list[tuple[str, Row]]], int]:
    """Without rows of training or validation whose text a split after them has."""
    seen: set[str] = set()
    kept: dict[str, list[tuple[str, Row]]] = {}
    for split in reversed(SPLITS):
        kept[split] = [(place, row) for place, row in found[split] if _words(fields.input_of(row)) not in seen]
        seen |= {_words(fields.input_of(row)) for _, row in found[split]}
        if not kept[split]:
            raise DataError(f"the split {split} has no row of its own: the texts are too few, or too much alike")
    leaking = sum(len(part) for part in found.values()) - sum(len(part) for part in kept.values())
    return {split: kept[split] for split in SPLITS}, leaking


def _rows(kept: Mapping[str, list[tuple[str, Row]]]) -> Rows:
    return {split: [row for _, row in kept[split]] for split in SPLITS}


def _origins(kept: Mapping[str, list[tuple[str, Row]]], fields: Fields) -> dict[str, str]:
    """Where each document came from that is one text with a class."""
    if not (fields.text and fields.label):
        return {}
    return {fields.input_of(row): place for part in kept.values() for place, row in part}


def _words(text: str) -> str:
    """What makes two texts the same: their words, whatever their case and the spaces between them."""
    return " ".join(text.casefold().split())


def _digest(text: str) -> str:
    return hashlib.sha256(_words(text).encode()).hexdigest()[:16]


def listed(malformed: Iterable[tuple[str, str]], named: int = _NAMED) -> str:
    """The first few, each as ``FILE:LINE (why)``, and how many more."""
    each = [f"{place} ({why})" for place, why in malformed]
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
