"""The index files of a Debian archive: stanzas of fields, one for each package."""

import bz2
import gzip
import io
import lzma
import re
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from posenc_jax.data.corpora.corpus import MOST_BYTES, DataError, content_of, decoded

APT_HELPER = "/usr/lib/apt/apt-helper"

_PASSING = re.compile("-(security|updates|backports|proposed)")
"""Parts of an archive that change from week to week, and corpora with them; they are passed over."""


def stanzas(folder: Path, index: str) -> Iterator[dict[str, str]]:
    """The stanzas of all files of one index, "Packages" or "Translation-en", by file name; continued lines joined
    with newlines, their first blank removed.

    A file may be named plainly or as apt names its lists ("deb.debian.org_debian_dists_stable_main_..._Packages"),
    and be plain or compressed. Those of security, updates and backports are not read.

    Errors: DataError for no such file, one that leads out of the folder, cannot be decompressed or unpacks to more than
    `MOST_BYTES`, a byte that is not UTF-8, and a line that is
    neither a field nor continues one.
    """
    pattern = re.compile(rf"(.+_)?{re.escape(index)}(\.(gz|bz2|xz|lz4))?")
    paths = sorted(path for path in folder.glob(f"*{index}*") if pattern.fullmatch(path.name) and path.is_file())
    stable = [path for path in paths if not _PASSING.search(path.name)]
    if not stable:
        found = ", ".join(path.name for path in paths)
        raise DataError(
            f"{folder} holds no index {index}{f', only {found}' if found else ''}: the folder needs the file of that "
            f"name, or one that ends in _{index}, of an archive's main part; `apt-get update` fetches it "
            f"(descriptions only with -o Acquire::Languages=en,de,fr)"
        )
    for path in stable:
        yield from _parse(decoded(unpacked(path, folder), path), path)


def _parse(text: str, path: Path) -> Iterator[dict[str, str]]:
    stanza: dict[str, str] = {}
    name = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            if stanza:
                yield stanza
            stanza, name = {}, ""
        elif line[0] in " \t" and name:
            stanza[name] += "\n" + line[1:]
        else:
            name, colon, value = line.partition(":")
            if not colon or line[0] in " \t":
                raise DataError(
                    f"{path}, line {number}: {line[:60]!r} is neither a field (Name: value) nor continues one; "
                    "the file is damaged or no index: fetch it again"
                )
            stanza[name] = value.strip()
    if stanza:
        yield stanza


def unpacked(path: Path, folder: Path) -> bytes:
    """The content of a file, decompressed; DataError for one that is damaged, or of more than `MOST_BYTES`."""
    packed = content_of(path, folder)
    if path.suffix == ".lz4":  # not in the standard library; whoever has such a file has apt
        return by_apt(path)
    if path.suffix not in _OPENERS:
        return packed
    try:
        with _OPENERS[path.suffix](io.BytesIO(packed)) as file:
            return bounded(file, path)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} cannot be decompressed: {error}; the file is damaged: fetch it again") from None


_OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}


def bounded(file: Any, path: Path) -> bytes:
    """All that a stream gives; DataError when it is more than `MOST_BYTES`, which are read before that is known."""
    parts, left = [], MOST_BYTES
    while left >= 0 and (part := file.read(min(left + 1, 2**20))):
        parts.append(part)
        left -= len(part)
    if left < 0:
        raise DataError(
            f"{path} unpacks to more than {MOST_BYTES:,} bytes, which no index does: fetch it again, or elsewhere"
        )
    return b"".join(parts)


def by_apt(path: Path) -> bytes:
    """The content of a list of apt's, decompressed."""
    command = [APT_HELPER, "cat-file", str(path.absolute())]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                data = bounded(process.stdout, path)
            except DataError:
                process.kill()
                raise
        if process.returncode:
            raise OSError(f"{APT_HELPER} ended with {process.returncode}")
    except OSError as error:
        raise DataError(f"{path} cannot be decompressed: {error}; decompress it with lz4 -d") from None
    return data
