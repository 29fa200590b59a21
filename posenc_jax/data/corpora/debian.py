"""Files of Debian packages and of the archive's indexes, through apt: downloaded, verified and unpacked.

What is left in the cache is the layout that ``from_dir`` reads as well::

    FOLDER/libreoffice-help-de/usr/share/...    a sub-folder per package, as `dpkg-deb -x` (or -R) unpacks it
    FOLDER/Packages.gz, FOLDER/Translation-de   the archive's indexes, plain or compressed (.gz, .bz2, .xz, .lz4)

Every entry is put there by a rename, so that what is there is whole. apt verifies what it downloads.
"""

import contextlib
import gzip
import hashlib
import io
import os
import re
import shutil
import subprocess
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from posenc_jax.data.corpora.corpus import DataError, content_of
from posenc_jax.data.corpora.indexes import by_apt, unpacked

Note = Callable[[str], None]

ARCHIVES = ("Debian", "Ubuntu")
_QUICK = ("-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o", "Acquire::https::Timeout=20")
_WAY_OUT = "or get the files elsewhere and name their folder (from_dir)"


def versions(names: Iterable[str], folder: Path) -> dict[str, str | None]:
    """The versions of those packages that are in ``folder``; DataError for one that is damaged or not unpacked."""
    found = {}
    for name in names:
        path = folder / name
        archives = sorted(folder.glob(f"{name}_*.deb"))
        if path.is_dir():
            verify(path)
            found[name] = version(path)
        elif archives:
            raise DataError(
                f"{folder} holds {archives[0].name}, and must hold the package unpacked, in a sub-folder of its name: "
                f"dpkg-deb -x '{archives[0]}' '{path}'"
            )
    return found


def download_packages(names: Iterable[str], cache: Path, note: Note = print) -> dict[str, Path]:
    """Puts unpacked packages into ``cache``, those that are not there yet or damaged; gives {name: folder}.

    A package that only depends on that of the distribution's version, as python3-doc does on python3.11-doc, has the
    files of the latter in its folder.
    """
    names = list(names)
    missing = [name for name in names if not _is_whole(cache / name)]
    if missing:
        _need("apt-get", missing)
        _need("dpkg-deb", missing)
        note(f"downloading {', '.join(missing)}")
        with _working_folder(cache) as folder:
            _fetch(missing, folder, note)
            for name in missing:
                _unpack_download(name, folder)
                versioned = _versioned(name, folder / "unpacked")
                if versioned:
                    note(f"{name} is {versioned} here")
                    shutil.rmtree(folder / "unpacked")
                    _fetch([versioned], folder, note)
                    _unpack_download(versioned, folder)
                shutil.rmtree(cache / name, ignore_errors=True)
                os.replace(folder / "unpacked", cache / name)
    return {name: cache / name for name in names}


def download_indexes(names: Iterable[str], cache: Path, note: Note = print) -> list[Path]:
    """Puts indexes of the archive's main part ("Packages", "Translation-de") into ``cache`` where not there or damaged.

    They come into lists of our own, so that those of the system stay as they are; security and updates are left out,
    since they change from week to week.
    """
    names = list(names)
    missing = [name for name in names if not _is_whole(cache / f"{name}.gz")]
    if missing:
        _need("apt-get", missing)
        note(f"downloading the archive's {', '.join(missing)}")
        with _working_folder(cache) as folder:
            languages = [name.removeprefix("Translation-") for name in missing if name.startswith("Translation-")]
            said = _update(folder, languages)
            for name in missing:
                source = _index(folder / "lists", name)
                if source is None:
                    raise DataError(_explained(f"the archive's index {name}", said, [name]))
                with gzip.GzipFile(folder / name, "wb", compresslevel=6, mtime=0) as packed:
                    packed.write(by_apt(source))
                os.replace(folder / name, cache / f"{name}.gz")
    return [cache / f"{name}.gz" for name in names]


def verify(folder: Path) -> None:
    """Compares the files of an unpacked package with the hashes in its control files, where those are there."""
    sums = folder / "DEBIAN" / "md5sums"
    listed = content_of(sums, folder).decode(errors="surrogateescape").splitlines() if sums.exists() else ()
    for line in listed:
        md5, _, name = line.partition("  ")
        path = folder / name
        if not Path(os.path.normpath(path)).is_relative_to(os.path.normpath(folder)):
            raise DataError(f"{sums} names {name!r}, which is not in {folder}: unpack the package again")
        try:
            same = hashlib.md5(content_of(path, folder), usedforsecurity=False).hexdigest() == md5
        except DataError:
            if path.exists():  # a link that leads out, a pipe, a device
                raise
            same = False
        if not same:
            raise DataError(
                f"{path} is missing or altered (its hash is not that of the package): unpack the package again"
            )


def _is_whole(path: Path) -> bool:
    """True if a package is unpacked without damage, or an index compressed without it."""
    try:
        if path.is_dir():
            verify(path)
        else:
            unpacked(path, path.parent)
    except DataError:
        return False
    return path.is_dir() or path.suffix == ".gz"  # a file in the way of a folder is neither


def version(folder: Path) -> str | None:
    """The version of an unpacked package, None where its files do not say."""
    control = folder / "DEBIAN" / "control"
    if control.exists():
        text = content_of(control, folder).decode(errors="replace")
        found = re.search(r"^Version: *(.+)$", text, re.MULTILINE)
        return found[1].strip() if found else None
    for path in sorted(folder.glob("usr/share/doc/*/changelog.Debian.gz")):
        try:
            with gzip.open(io.BytesIO(content_of(path, folder))) as lines:
                found = re.search(r"\((.+?)\)", lines.readline(1000).decode(errors="replace"))
        except (OSError, EOFError, zlib.error, DataError):
            continue
        if found:
            return found[1]
    return None


def _fetch(names: list[str], folder: Path, note: Note) -> None:
    """Downloads .deb files into ``folder``; by package lists of our own where the system's do not know them."""
    said = _run(["apt-get", *_QUICK, "download", *names], folder)
    if said.returncode and "Unable to locate package" in said.stderr:
        note("the system's package lists do not have them; fetching lists of our own")
        updated = _update(folder, [])
        said = _run(["apt-get", *_QUICK, *_private(folder), "download", *names], folder)
        if said.returncode and _network(updated.stdout + updated.stderr):
            raise DataError(_explained(", ".join(names), updated, names))
    if said.returncode or "Failed to fetch" in said.stderr:
        raise DataError(_explained(", ".join(names), said, names))


def _unpack_download(name: str, folder: Path) -> None:
    """Unpacks a downloaded .deb with its control file to "unpacked"; DataError where there is none, or a part of it."""
    archives = sorted(folder.glob(f"{name}_*.deb"))
    if not archives:
        raise DataError(f"apt-get downloaded no {name}_*.deb: try `apt-get download {name}`, {_WAY_OUT}")
    said = _run(["dpkg-deb", "-R", str(archives[0]), str(folder / "unpacked")])
    if said.returncode:
        raise DataError(
            f"{archives[0].name} is not a whole Debian package ({_last(said.stderr)}): download it again, {_WAY_OUT}"
        )


def _versioned(name: str, folder: Path) -> str | None:
    """The package of the same name but for its version that an unpacked one depends on: python3.11-doc."""
    depends = re.search(r"^Depends: *(.+)$", (folder / "DEBIAN" / "control").read_text(errors="replace"), re.MULTILINE)
    names = re.findall(r"[a-z0-9][a-z0-9+.-]+", depends[1]) if depends else []
    return next((found for found in names if found != name and re.sub(r"\.\d+", "", found) == name), None)


def _update(folder: Path, languages: list[str]) -> subprocess.CompletedProcess[str]:
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    wanted = ",".join(languages) or "none"
    return _run(["apt-get", *_QUICK, "-o", f"Acquire::Languages={wanted}", *_private(folder), "update"], folder)


def _private(folder: Path) -> list[str]:
    return ["-o", f"Dir::State::lists={folder / 'lists'}", "-o", f"Dir::Cache={folder / 'cache'}"]


def _index(lists: Path, name: str) -> Path | None:
    """The file of the main part of the distribution itself, for this machine's architecture."""
    architecture = _run(["dpkg", "--print-architecture"]).stdout.strip()
    part = f"binary-{architecture}" if name == "Packages" else "i18n"
    for release in sorted(lists.glob("*Release")):
        fields = dict(re.findall(r"^(Origin|Suite): *(.+)$", release.read_text(errors="replace"), re.MULTILINE))
        if fields.get("Origin") in ARCHIVES and "-" not in fields.get("Suite", "-"):
            start = release.name.removesuffix("Release").removesuffix("In")
            found = sorted(lists.glob(f"{start}main_{part}_{name}*"))
            if found:
                return found[0]
    return None


def _explained(wanted: str, said: subprocess.CompletedProcess[str], names: list[str]) -> str:
    text = said.stderr + said.stdout
    unknown = re.findall(r"Unable to locate package (\S+)", text)
    if unknown:
        return (
            f"apt knows no package {', '.join(unknown)}: this system's sources lack it (they are made for Debian 12); "
            f"add a source that has it, {_WAY_OUT}"
        )
    if re.search(r"Hash Sum mismatch|unexpected size|Size mismatch", text):
        return f"{wanted} did not arrive as the archive has it (hash sum mismatch): try again, {_WAY_OUT}"
    if reason := _network(text):
        return f"{wanted} cannot be downloaded, no network ({reason}): try again with one, {_WAY_OUT}"
    return f"{wanted} cannot be downloaded ({_last(said.stderr) or 'apt did not say why'}): try again, {_WAY_OUT}"


def _network(text: str) -> str | None:
    """The line in which apt says that it reaches nobody."""
    found = re.search(
        r"(Could not connect|Cannot initiate|Unable to connect|Temporary failure resolving|Could not resolve|"
        r"Connection (timed out|failed|refused)|Network is unreachable).*",
        text,
    )
    return found[0].strip().rstrip(":") if found else None


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("E:", "dpkg-deb: error")) or "error" in line.lower()] or lines
    return errors[-1][:200].removeprefix("E: ") if errors else ""


def _need(program: str, names: list[str]) -> None:
    if shutil.which(program) is None:
        raise DataError(
            f"there is no {program} on this machine, and {', '.join(names)} come from a Debian archive: unpack them "
            "on a machine that has it, copy the folder and name it (from_dir)"
        )


def _run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")


@contextlib.contextmanager
def _working_folder(cache: Path) -> Iterator[Path]:
    """A folder beside the entries of the cache, gone afterwards; what a killed process left is cleared first."""
    path = cache / ".downloading"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
