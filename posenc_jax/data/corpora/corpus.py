"""The definition of a corpus: a name, its packages, and a pure function from their unpacked files to rows."""

import dataclasses
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from posenc_jax.data.errors import DataError as DataError
from posenc_jax.data.errors import UnfitError as UnfitError
from posenc_jax.files.atomic import read_regular
from posenc_jax.files.user_paths import real

Kind = Literal["translation", "summarization", "classification", "text", "pairs"]
Row = dict[str, str]
Rows = dict[str, list[Row]]
"""{split: rows}."""

SPLITS = ("train", "validation", "test")


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A local corpus, from Debian packages, or made by its code alone.

    ``extract(folder)`` reads unpacked files and returns ``{split: rows}``; a row has exactly ``columns``, all strings.
    In ``folder`` lie one sub-folder per package of ``packages``, as ``dpkg-deb -x`` leaves it, and the files of
    ``indexes`` ("Packages", "Translation-en"), plain or compressed (.gz, .bz2, .xz, .lz4).

    Columns by kind: translation has two language codes, summarization "document" and "summary", classification
    "header", "body", "footer" and "label", text "text"; all of them "doc" too: the page or source package by which
    the splits were made, so that no document is in two of them.

    ``sha256`` is the hash of the rows (``rows_sha256``) that was measured when the corpus was written down, None if
    it never was. Packages are revised, so another hash is noted, and refused only on request.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    licence: str
    extract: Callable[[Path], Rows]
    packages: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    splits: tuple[str, ...] = SPLITS
    sha256: str | None = None

    @property
    def generated(self) -> bool:
        """True if it is made from nothing, with no package and no index."""
        return not self.packages + self.indexes


def split_of(key: str) -> str:
    """The split that a document falls into by the hash of its name: 92 % train, 4 % validation, 4 % test."""
    share = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") / 2**64
    return "train" if share < 0.92 else "validation" if share < 0.96 else "test"


def split_rows(rows: list[Row]) -> Rows:
    """Rows by the split of their "doc", in their order."""
    found: Rows = {split: [] for split in SPLITS}
    for row in rows:
        found[split_of(row["doc"])].append(row)
    return found


MOST_BYTES = 2**28
"""Of one file, and of what a compressed one unpacks to: several times what Debian's longest index has."""


def files_below(folder: Path) -> list[Path]:
    """The files in a folder and its folders, by name; DataError for a link that leads out of it or to a folder, for a
    pipe and for a device.
    """
    found = sorted(folder.rglob("*"))
    for path in found:
        if path.is_symlink() and (path.is_dir() or not real(path).is_relative_to(real(folder))):
            raise DataError(f"{path} is a link to {real(path)}, which is not followed: put what is meant there itself")
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DataError(f"{path} is no regular file: take it out of the folder")
    return [path for path in found if path.is_file()]


def refuse_outside(path: Path, root: Path) -> None:
    """DataError for what leads out of ``root``, by a link or by its name."""
    if not real(path).is_relative_to(real(root)):
        raise DataError(f"{path} leads out of {root}, to {real(path)}: put the file itself there")


def content_of(path: Path, root: Path) -> bytes:
    """The bytes of a file below ``root``; DataError for what leads out of it, never ends, or is beyond `MOST_BYTES`."""
    refuse_outside(path, root)
    try:
        return read_regular(path, MOST_BYTES)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}): unpack its package again") from None


def read_text(path: Path, root: Path) -> str:
    """A UTF-8 file as `content_of`; DataError also names the file and the offset of a byte that is none."""
    return decoded(content_of(path, root), path)


def decoded(data: bytes, path: Path) -> str:
    """``data`` of the file ``path`` as UTF-8; DataError names the file and the offset of a byte that is none."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start} ({error.reason}); "
            "the file is damaged: unpack its package again"
        ) from None


def clean(english: str, other: str, language: str) -> bool:
    """True if a pair looks like two sentences: words, letters, and lengths that go together.

    3 to 80 English words and 2 to 100 in the other language; 0.4 to 2.5 times as many characters; at least 60 %
    letters on both sides; not the same text twice. Japanese has no spaces: its words are not counted, and it has 0.15
    to 1.5 times as many characters.
    """
    if english == other or not 3 <= len(english.split()) <= 80:
        return False
    if language != "ja" and not 2 <= len(other.split()) <= 100:
        return False
    low, high = (0.15, 1.5) if language == "ja" else (0.4, 2.5)
    return low <= len(other) / len(english) <= high and min(_letters(english), _letters(other)) >= 0.6


def _letters(text: str) -> float:
    return sum(map(str.isalpha, text)) / len(text) if text else 0.0
