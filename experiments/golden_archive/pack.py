"""Golden sequences and rotary frequencies as an archive, for people who port models.

    python -m experiments.golden_archive.pack

It has a version, and a sha256 digest, which is written to the page scripts/docs/guides/golden-values.md. Equal files
give equal bytes on every machine: no clocks, no owners, and bzip2, which has one implementation.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import io
import re
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = 1
NAME = f"posenc-golden-{VERSION}.tar.bz2"
PAGE = ROOT / "scripts" / "docs" / "guides" / "golden-values.md"
FOLDERS = {
    "sequences": ("posenc_jax/golden/sequences", ("README.md", "check.py", "reference.py", "sequences-v1.json")),
    "rope": (
        "posenc_jax/golden/rope",
        ("README.md", "check.py", "positions-v1.json", "positions-v1.schema.json", "rope-v1.json"),
    ),
}
"""In the archive: in the checkout, and its files."""


def members() -> dict[str, bytes]:
    """Name in the archive: what is in it."""
    found = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    for folder, (path, files) in FOLDERS.items():
        found |= {f"{folder}/{name}": (ROOT / path / name).read_bytes() for name in files}
    return found


def packed() -> bytes:
    """The archive."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(members().items()):
            member = tarfile.TarInfo(f"{NAME.removesuffix('.tar.bz2')}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return bz2.compress(file.getvalue())


def digest() -> str:
    return hashlib.sha256(packed()).hexdigest()


def page(text: str) -> str:
    """The text of the guide with the archive's name, size and digest."""
    stated = f"`{NAME}`, {len(packed()) / 1e3:.0f} kB, sha256 `{digest()}`"
    text, found = re.subn(r"`posenc-golden-\d+\.tar\.bz2`, \d+ kB, sha256 `[0-9a-f]{64}`", stated, text)
    if found != 1:
        raise ValueError(f"{PAGE.name} names the archive {found} times by its name, size and digest: write it once")
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="experiments.golden_archive.pack", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--output", "-o", type=Path, default=ROOT / "build", metavar="DIRECTORY", help="default: build")
    output = parser.parse_args(arguments).output
    output.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(PAGE.read_text()))
    (output / NAME).write_bytes(packed())
    (output / f"{NAME}.sha256").write_text(f"{digest()}  {NAME}\n")
    print(f"{output / NAME}: {len(packed()):,} bytes, sha256 {digest()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
