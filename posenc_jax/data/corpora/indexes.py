"""The index files of a Debian archive: stanzas of fields, one for each package."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

from posenc_jax.data.corpora.corpus import DataError, decoded

_PASSING = re.compile("-(security|updates|backports|proposed)")
"""Parts of an archive that change from week to week, and corpora with them; they are passed over."""


def stanzas(folder: Path, index: str) -> Iterator[dict[str, str]]:
    """The stanzas of all files of one index, "Packages" or "Translation-en", by file name; continued lines joined
    with newlines, their first blank removed.

    A file may be named plainly or as apt names its lists ("deb.debian.org_debian_dists_stable_main_..._Packages"),
    and be plain or compressed. Those of security, updates and backports are not read.

    Errors: DataError for no such file, one that cannot be decompressed, a byte that is not UTF-8, and a line that is
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
        yield from _parse(decoded(_decompressed(path), path), path)


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


def _decompressed(path: Path) -> bytes:
    if path.suffix == ".lz4":  # not in the standard library; whoever has such a file has apt
        command = ["/usr/lib/apt/apt-helper", "cat-file", str(path)]
        try:
            return subprocess.run(command, capture_output=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise DataError(f"{path} cannot be decompressed: {error}; decompress it with lz4 -d") from None
    data = path.read_bytes()
    try:
        match path.suffix:
            case ".gz":
                return gzip.decompress(data)
            case ".bz2":
                return bz2.decompress(data)
            case ".xz":
                return lzma.decompress(data)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} cannot be decompressed: {error}; the file is damaged: fetch it again") from None
    return data
