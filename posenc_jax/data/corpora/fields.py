"""Fields of the user's files, and the rows of a corpus made of them."""

import dataclasses
import hashlib
import unicodedata
from collections.abc import Mapping

from posenc_jax.data.corpora.corpus import DataError, Kind, Row


@dataclasses.dataclass(frozen=True)
class Fields:
    """The fields of a row that are read, by their names in the file.

    Attributes:
      text: the text itself, of a class where ``label`` is given too.
      sections: instead the sections of a document with a class, which keep their names as columns.
      source, target: the two sides of a pair, which keep their names as columns.
      document: what says which rows belong together, so that no document is in two splits.
    """

    text: str | None = None
    label: str | None = None
    source: str | None = None
    target: str | None = None
    document: str | None = None
    sections: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        pair, text = (self.source, self.target), (self.text, self.label)
        if self.sections:
            if not self.label or self.text or any(pair):
                raise DataError("documents in sections are for classification: name their class with --label F")
        elif any(pair) == any(text) or (any(pair) and not all(pair)) or (self.label and not self.text):
            raise DataError(
                "name the fields to read: --source F --target F for pairs, --field F for texts, --field F --label F "
                "for texts with classes, --field F F ... --label F for documents in sections"
            )
        if len(set(self.read)) < len(self.read):
            raise DataError(f"two of the fields have one name: {', '.join(self.read)}")
        if taken := {"doc"} & set(pair):
            raise DataError(f"a side of a pair cannot be called {taken.pop()!r}, which is the document's: rename it")
        if taken := {"doc", "label"} & set(self.sections):
            raise DataError(f"a section cannot be called {taken.pop()!r}, which is a column of its own: rename it")

    @property
    def read(self) -> tuple[str, ...]:
        """The fields that are there, in a fixed order."""
        return tuple(filter(None, (self.source, self.target, self.text, *self.sections, self.label, self.document)))

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that name a class or a document, whose values may be whole numbers."""
        return tuple(filter(None, (self.label, self.document)))

    def lacking(self, record: Mapping[str, str]) -> str:
        """The name of a field that is empty and must not be, or "": some sections of a document may be, not all."""
        empty = [name for name in self.read if name in record and not record[name].strip()]
        if self.sections and not set(self.sections) <= set(empty):
            empty = [name for name in empty if name not in self.sections]
        return f"field {empty[0]!r} is empty" if empty else ""

    @property
    def kind(self) -> Kind:
        """The kind of corpus that these fields make."""
        return "pairs" if self.source else "classification" if self.label else "text"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the corpus."""
        if self.source and self.target:
            return (self.source, self.target, "doc")
        if self.sections:
            return (*self.sections, "label", "doc")
        return ("header", "body", "footer", "label", "doc") if self.label else ("text", "doc")

    def input_of(self, row: Row) -> str:
        """All the text of a row that a model reads."""
        if self.sections:
            return "\n".join(row[name] for name in self.sections)
        return row[self.columns[1] if self.kind == "classification" else self.columns[0]]

    def row(self, record: Mapping[str, str], location: str) -> Row:
        """A row of the corpus."""
        if self.source and self.target:
            row = {name: record[name] for name in (self.source, self.target)}
        elif self.sections:
            row = {name: record[name] for name in self.sections} | {"label": record[str(self.label)]}
        elif self.label:
            row = {"header": "", "body": record[str(self.text)], "footer": "", "label": record[self.label]}
        else:
            row = {"text": record[str(self.text)]}
        return row | {"doc": record[self.document] if self.document else digest_of(self.input_of(row))}


def words_of(text: str) -> str:
    """The words by which texts are told apart: two texts that have the same ones are one.

    They are in lower case, in Unicode's form NFKC (composed letters, plain digits), one space between them, without
    format characters (category Cf: U+FEFF, zero-width spaces and joiners, soft hyphens, ...) and variation selectors.
    """
    unseen = {c for c in set(text) if unicodedata.category(c) == "Cf" or "VARIATION SEL" in unicodedata.name(c, "")}
    shown = text.translate(dict.fromkeys(map(ord, unseen)))
    return " ".join(unicodedata.normalize("NFKC", shown).casefold().split())


def digest_of(text: str) -> str:
    """Digest of the words of a text: 16 hexadecimal digits."""
    return hashlib.sha256(words_of(text).encode()).hexdigest()[:16]
