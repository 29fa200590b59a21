"""The definition of a corpus: a name, its columns, and a function that makes its rows; how documents are split."""

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
# {split: rows}.
Rows = dict[str, list[Row]]

SPLITS = ("train", "validation", "test")


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A corpus that is made by code of this package alone.

    ``rows()`` returns ``{split: rows}``; a row has exactly ``columns``, all strings: two language codes, or "document"
    and "summary", and "doc", by which the splits were made.
    """

    name: str
    kind: Kind
    columns: tuple[str, ...]
    rows: Callable[[], Rows]


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


# Of one file, and of what a compressed one unpacks to.
MOST_BYTES = 2**28


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
        raise DataError(f"{path} cannot be read ({error.strerror or error})") from None
