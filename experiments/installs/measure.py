"""Size and duration of each kind of install, in fresh environments. Needs the network.

    python -m experiments.installs.measure [KIND ...]     # writes installs.json and the table of start/install.md

Each kind goes into a fresh environment of its own, from a wheel of this checkout, at the versions of requirements.lock
where that names them. Counted are the packages but for pip, and the bytes of their files without compiled bytecode.
Seconds are those of pip without compiling bytecode, with its cache as it was: they depend on the network.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).resolve().with_name("installs.json")
PAGE = ROOT / "scripts" / "docs" / "start" / "install.md"
BLOCK = re.compile(r"(<!-- installs: written by experiments/installs -->\n)(.*?)(<!-- end of installs -->)", re.DOTALL)
KINDS: dict[str, tuple[str, ...]] = {
    "wheel": (),  # the file itself
    "encodings": ("jax",),  # and then the wheel, with --no-deps
    "plain": ("",),
    "text": ("[text]",),
    "report": ("[report]",),
    "text,report": ("[text,report]",),
    "cuda": ("[cuda]",),
}
"""What is installed: other packages, or the wheel with these extras."""
SIZES = """
import importlib.metadata, json
sizes = {}
for found in importlib.metadata.distributions():
    files = [file for file in found.files or () if "__pycache__" not in file.parts]
    sizes[found.name] = sum(file.locate().stat().st_size for file in files if file.locate().is_file())
print(json.dumps(sizes))
"""

IMPORTS = """
import time
begun = time.perf_counter()
import jax, jax.numpy
middle = time.perf_counter()
import posenc_jax.encodings
print(middle - begun, time.perf_counter() - middle)
"""

Json = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Measures the kinds that are asked for, and writes what differs."""
    parser = argparse.ArgumentParser(prog="experiments.installs.measure", description=__doc__.partition("\n\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)} (default: all)")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the table of what is kept")
    given = parser.parse_args(arguments)
    for kind in given.kinds:
        if kind not in KINDS:
            parser.error(f"{kind!r} is no kind of install: choose among {', '.join(KINDS)}")
    record: Json = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if not given.page:
        with tempfile.TemporaryDirectory() as folder:
            wheel = built(Path(folder))
            for kind in given.kinds or KINDS:
                record[kind] = measured(kind, wheel, Path(folder) / f"environment-{kind}")
                print(f"{kind}: {record[kind]}", file=sys.stderr)
                record = {kind: record[kind] for kind in KINDS if kind in record}
                RECORD.write_text(json.dumps(record, indent=1) + "\n")
    PAGE.write_text(filled(PAGE.read_text(), record))
    return 0


def built(folder: Path) -> Path:
    """A wheel of this checkout."""
    tool = environment(folder / "build")
    _run(tool, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(folder: Path) -> Path:
    """The Python of a fresh environment with pip."""
    venv.create(folder, with_pip=True)
    return folder / "bin" / "python"


def measured(kind: str, wheel: Path, folder: Path) -> Json:
    """The size and time of one kind."""
    if not KINDS[kind]:
        return {"date": datetime.date.today().isoformat(), "megabytes": round(wheel.stat().st_size / 1e6, 1)}
    python = environment(folder)
    begun = time.perf_counter()
    for what in KINDS[kind]:
        named = what if what and not what.startswith("[") else f"posenc-jax{what} @ {wheel.as_uri()}"
        _run(
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--constraint",
            str(ROOT / "requirements.lock"),
            named,
        )
    if not any(what.startswith("[") or not what for what in KINDS[kind]):
        _run(python, "-m", "pip", "install", "--quiet", "--no-compile", "--no-deps", str(wheel))
    seconds = time.perf_counter() - begun
    sizes = json.loads(_run(python, "-c", SIZES))
    sizes = {name: size for name, size in sizes.items() if name not in ("pip", "setuptools")}
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    return {
        "date": datetime.date.today().isoformat(),
        "python": _run(python, "-c", "import platform; print(platform.python_version())").strip(),
        "packages": len(sizes),
        "megabytes": round(sum(sizes.values()) / 1e6),
        "seconds": round(seconds),
        "largest": {name: round(size / 1e6) for name, size in largest},
    } | ({"imports": imports(python)} if kind == "encodings" else {})


def imports(python: Path) -> dict[str, float]:
    """Seconds until jax is imported, and from then until the encodings are: the quickest of six, with bytecode."""
    taken = [[float(part) for part in _run(python, "-c", IMPORTS).split()] for _ in range(6)]
    jax_alone, encodings = min(taken, key=sum)
    return {"jax": round(jax_alone, 2), "posenc_jax.encodings": round(encodings, 2)}


def filled(page: str, record: Json) -> str:
    """The page with the table as it is now; ValueError where it lacks the marks."""
    if not BLOCK.search(page):
        raise ValueError(f"{PAGE.name} lacks the marks of the table: see experiments/installs/measure.py")
    return BLOCK.sub(lambda match: f"{match[1]}{table(record)}{match[3]}", page)


def table(record: Json) -> str:
    """A row for each kind."""
    lines = ["| install | packages | MB | seconds | largest, MB |", "|---|---:|---:|---:|---|"]
    for kind in (kind for kind in record if KINDS[kind]):
        one = record[kind]
        name = {"plain": "`pip install .`", "encodings": "`--no-deps`, with jax"}.get(kind, f"`'.[{kind}]'`")
        largest = ", ".join(f"{package} {size}" for package, size in one["largest"].items())
        lines.append(f"| {name} | {one['packages']} | {one['megabytes']:,} | {one['seconds']} | {largest} |")
    taken = record["encodings"]["imports"]
    lines += [
        "",
        f"`import posenc_jax.encodings` takes {taken['jax'] + taken['posenc_jax.encodings']:.2f} s where it was "
        f"measured: {taken['jax']:.2f} of jax, {taken['posenc_jax.encodings']:.2f} of its own. The wheel has "
        f"{record['wheel']['megabytes']} MB; golden values are its largest part, and it has no tests or corpora.",
    ]
    return "\n".join(lines) + "\n"


def _run(python: Path, *arguments: str) -> str:
    command = [str(python), *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


if __name__ == "__main__":
    sys.exit(main())
