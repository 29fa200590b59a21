"""Packages of Debian and the indexes of its archive, through apt, which verifies what it downloads and needs no root.

They stay in one folder, where what is there is not downloaded again:

    FOLDER/libreoffice-help-de/usr/share/...     a sub-folder per package, as `dpkg-deb -R` (or -x) unpacks it
    FOLDER/Packages.gz, FOLDER/Translation-de.gz indexes of the archive's main part
"""

import gzip
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ARCHIVES = ("Debian", "Ubuntu")
LANGUAGES = "en,de,fr"
HELPER = "/usr/lib/apt/apt-helper"


def package(name: str, folder: Path) -> Path:
    """An unpacked package. "python3-doc" is a name for that of the distribution's version, such as python3.11-doc."""
    found = folder / name
    if not found.is_dir():
        with tempfile.TemporaryDirectory(dir=folder) as made:
            work = Path(made)
            named = re.search(r"Depends: (python3\.\d+-doc)", _apt("apt-cache", folder, "depends", name))
            _apt("apt-get", folder, "download", named[1] if named else name, cwd=work)
            _run(["dpkg-deb", "-R", *map(str, work.glob("*.deb")), str(work / "unpacked")])
            (work / "unpacked").rename(found)
    return found


def version(folder: Path) -> str:
    """The version of an unpacked package, "" where it was unpacked without its control file."""
    control = folder / "DEBIAN" / "control"
    found = re.search(r"^Version: *(.+)$", control.read_text(), re.MULTILINE) if control.exists() else None
    return found[1] if found else ""


def index(name: str, folder: Path) -> Path:
    """The index "Packages" or "Translation-de" of the archive, for this machine's architecture; those of security and
    updates, which change from week to week, are no part of it.
    """
    found = folder / f"{name}.gz"
    if not found.exists():
        text = _run([HELPER, "cat-file", str(_list(_lists(folder), name))])
        part = found.with_suffix(".part")
        part.write_bytes(gzip.compress(text, 6, mtime=0))
        part.rename(found)
    return found


def stanzas(path: Path) -> Iterator[dict[str, str]]:
    """The stanzas of an index: continued lines are joined with newlines, their first blank removed."""
    for stanza in gzip.decompress(path.read_bytes()).decode().split("\n\n"):
        fields = re.split(r"\n(?![ \t])", stanza.strip("\n"))
        found = (field.partition(":") for field in fields if field)
        if named := {name: re.sub(r"\n[ \t]", "\n", value).strip() for name, _, value in found}:
            yield named


def _list(lists: Path, name: str) -> Path:
    architecture = _run(["dpkg", "--print-architecture"]).decode().strip()
    part = f"binary-{architecture}" if name == "Packages" else "i18n"
    for release in sorted(lists.glob("*Release")):
        fields = dict(re.findall(r"^(Origin|Suite): *(.+)$", release.read_text(errors="replace"), re.MULTILINE))
        if fields.get("Origin") in ARCHIVES and "-" not in fields.get("Suite", "-"):
            start = release.name.removesuffix("Release").removesuffix("In")
            if found := sorted(lists.glob(f"{start}main_{part}_{name}*")):
                return found[0]
    raise SystemExit(f"{lists} has no index {name} of {' or '.join(ARCHIVES)}")


def _lists(folder: Path) -> Path:
    """Package lists of our own, so that those of the system stay as they are; fetched once."""
    lists = folder / "apt" / "lists"
    if not any(lists.glob("*Packages*")):
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        (folder / "apt" / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        options = (f"Acquire::Languages={LANGUAGES}", "APT::Update::Error-Mode=any", "Acquire::Retries=1")
        _run(["apt-get", *(word for option in options for word in ("-o", option)), *_private(folder), "update"])
    return lists


def _private(folder: Path) -> list[str]:
    return ["-o", f"Dir::State::lists={folder / 'apt' / 'lists'}", "-o", f"Dir::Cache={folder / 'apt' / 'cache'}"]


def _apt(program: str, folder: Path, *words: str, cwd: Path | None = None) -> str:
    _lists(folder)
    return _run([program, *_private(folder), *words], cwd).decode()


def _run(command: list[str], cwd: Path | None = None) -> bytes:
    if shutil.which(command[0]) is None:
        raise SystemExit(
            f"there is no {command[0]} here: fetch the packages and indexes on a machine with apt, and name their "
            "folder with --sources"
        )
    done = subprocess.run(command, cwd=cwd, env=os.environ | {"LC_ALL": "C"}, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr.decode(errors='replace')}")
    return done.stdout
