"""Documents whose structure does not nest, found when a corpus is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from posenc_jax.data.corpora.reading import Malformed, Record
from posenc_jax.data.documents import SUFFIXES, NotNested, document_parts


def nested(
    found: Mapping[str, Iterable[Record]], field: str, structure: str, *, of_many_lines: bool
) -> dict[str, Iterator[Record]]:
    """The records by split; malformed too is one whose ``field`` does not nest as a document of that structure.

    of_many_lines: as for `posenc_jax.data.corpora.own.take`; the location is then that of the line within the file.
    """

    def checked(location: str, record: dict[str, str] | Malformed) -> Record:
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
    files = [path for path in folder.glob("[!.]*/**/*") if path.is_file() and not path.name.startswith(".")]
    said = {SUFFIXES.get(path.suffix.lower()) for path in files}
    return said.pop() if len(said) == 1 else None
