"""Builds the site from scripts/docs, the registry, the source and the parsers; `scripts/build_docs` runs it.

In build/docs: ``source`` is what Sphinx reads, ``html`` the pages, ``site`` what a host gets of them, ``cache`` what
pages computed and ``pictures`` those of encodings; the last two are kept until the code that they stand on changes.
With --no-execution nothing is run: no cell of a page, no picture of an encoding, no help of a command; what is wrong
with links, names or markup is still found, in a minute, in build/docs-not-run.
"""

from __future__ import annotations

import argparse
import collections
import gc
import hashlib
import importlib.metadata
import os
import re
import shutil
import sys
import time
from pathlib import Path

from documenting import api, commands, configs, encodings, gallery, pages, picture
from documenting.drawn import pictures, stand_ins
from documenting.rows import rows
from packaging.version import Version

import posenc_jax

ROOT = Path(__file__).resolve().parent.parent
LAST_LINES = 20  # of the output of a cell that fails


def main(arguments: list[str] | None = None) -> int:
    """Builds all; 1 with the names of the pages that do not work out."""
    parser = argparse.ArgumentParser(prog="scripts/build_docs", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--no-execution", action="store_true", help="run nothing: a minute rather than half an hour")
    parser.add_argument("--into", type=Path, metavar="DIR", help="in place of build/docs, or build/docs-not-run")
    options = parser.parse_args(arguments)
    executes = not options.no_execution
    folder = (options.into or ROOT / "build" / ("docs" if executes else "docs-not-run")).absolute()
    begun = time.monotonic()
    os.chdir(ROOT)
    try:
        problems = pages.broken()
        if problems:
            raise ValueError("\n".join(problems))
        make_sources(folder, executes=executes)
    except ValueError as error:
        print(f"scripts/build_docs: {error}\nnothing was built", file=sys.stderr)
        return 1
    print(f"sources: {time.monotonic() - begun:.0f} s", flush=True)
    forget_old(folder / "cache", code_digest())
    failed = sphinx(folder, executes=executes)
    if not failed:
        by_version(folder)
    told = "failed, for what stands above" if failed else f"wrote {os.path.relpath(folder / 'html' / 'index.html')}"
    print(f"{told}, after {time.monotonic() - begun:.0f} s")
    return 1 if failed else 0


def make_sources(folder: Path, *, executes: bool = True) -> None:
    """Writes all pages into the folder's ``source``; ValueError with the names of those that lack something."""
    source, kept = folder / "source", folder / "pictures"
    found = rows()
    methods = [(row.method.name, row.method.spec) for row in found]
    digest = code_digest("encodings", "analysis", "show", "drawing", more=(Path(picture.__file__),))
    drawn = pictures(methods, kept, digest, workers()) if executes else stand_ins(methods, kept)
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(
        ROOT / "scripts" / "docs", source, ignore=shutil.ignore_patterns("*.md", "*.toml", "*.txt", "*.json")
    )
    for name, path in pages.written().items():
        pages.copy(name, path, source, executes=executes)
    texts = {f"encodings/{row.page}.md": encodings.page(row, drawn[row.page]) for row in found}
    texts["encodings/index.md"] = encodings.index(found, {row.page: f"{row.page}-small.png" for row in found})
    for package in api.packages():
        texts |= {f"reference/{name}.md": text for name, text in api.pages(package).items()}
    texts |= {"reference/api.md": api.index(), "reference/configs.md": configs.page()}
    texts |= {"reference/tasks.md": configs.tasks(), "reference/commands.md": commands.page(asks=executes)}
    texts["experiments/index.md"] = experiments()
    for name, text in texts.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    small = source / pages.SMALL
    (small / "encodings").mkdir(parents=True)
    for file in kept.glob("*.png"):
        shutil.copyfile(file, (small if file.stem.endswith("-small") else source) / "encodings" / file.name)
    front = source / "index.md"
    front.write_text(gallery.filled(front.read_text(), collections.Counter(row.method.family for row in found), small))


def experiments() -> str:
    """The page of all experiments."""
    found = {
        name: pages.title(path.read_text())
        for name, path in pages.written().items()
        if path.is_relative_to(pages.EXPERIMENTS)
    }
    main_pages = [name for name in found if "-" not in Path(name).stem]
    lines = [f"- [{found[name]}](/{name})" for name in main_pages]
    toctree = "\n".join(Path(name).stem for name in found)
    about = "One folder, one question: its command, its table, and what follows from it."
    return f"# Experiments\n\n{about}\n\n" + "\n".join(lines) + f"\n\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"


def code_digest(*packages: str, more: tuple[Path, ...] = ()) -> str:
    """Digest of the source of the package, or of some packages of it, and of the versions that matter."""
    folders = [ROOT / "posenc_jax" / name for name in packages] or [ROOT / "posenc_jax"]
    digest = hashlib.sha256()
    for path in sorted([p for folder in folders for p in folder.rglob("*.py")]) + list(more):
        digest.update(path.read_bytes())
    for name in ("jax", "flax", "numpy", "matplotlib"):
        digest.update(importlib.metadata.version(name).encode())
    return digest.hexdigest()[:16]


def forget_old(cache: Path, digest: str) -> None:
    """Drops what pages computed with other code."""
    stamp = cache / "code"
    if not stamp.exists() or stamp.read_text() != digest:
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        stamp.write_text(digest)


def workers() -> int:
    """The number of processes: one for each usable core."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sphinx(folder: Path, *, executes: bool = True) -> int:
    """Runs Sphinx strictly; its exit code. Of a page that fails, the cell, its output and the error are printed."""
    from sphinx.cmd.build import main as build
    from sphinx.pycode import ModuleAnalyzer

    shutil.rmtree(folder / "html", ignore_errors=True)
    options = ["-b", "html", "-q", "-W", "--keep-going", "-j", str(workers()), "-d", str(folder / "doctrees")]
    if not executes:  # nobody knows the language of cells then, which is Python
        options += ["-D", "nb_execution_mode=off", "-D", "suppress_warnings=myst.header,myst-nb.lexer"]
    for name in (name for files in api.packages().values() for name in files):
        ModuleAnalyzer.for_module(name).analyze()  # once, not again in every process
    gc.freeze()  # what is imported stays: no collection need walk through it
    code = build([*options, str(folder / "source"), str(folder / "html")])
    for file in sorted((folder / "html" / "reports").rglob("*.err.log")):
        page = file.relative_to(folder / "html" / "reports").as_posix().removesuffix(".err.log")
        print(f"{page}.md: {in_short(file.read_text())}", file=sys.stderr)
    return code


def by_version(folder: Path) -> None:
    """The site as a host has it, in ``site``: the pages as ``latest`` and under their minor version; others stay."""
    site, version = folder / "site", ".".join(posenc_jax.__version__.split(".")[:2])
    for name in ("latest", version):
        shutil.rmtree(site / name, ignore_errors=True)
        shutil.copytree(folder / "html", site / name, copy_function=os.link)
    numbers = sorted((path.name for path in site.iterdir() if path.name[0].isdigit()), key=Version, reverse=True)
    names = ["latest", *numbers]
    links = "".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in names)
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>posenc_jax</title>'
    (site / "versions.html").write_text(f"{head}<h1>Versions of posenc_jax</h1><ul>{links}</ul></html>")
    to_latest = '<meta http-equiv="refresh" content="0; url=latest/index.html">'
    (site / "index.html").write_text(f'{head}{to_latest}<a href="latest/index.html">posenc_jax</a></html>')


def in_short(report: str) -> str:
    """A failed cell, the end of its output and its error, of what nbclient says of it: without the traceback."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", report).strip()
    _, said, rest = plain.partition("following cell:\n------------------\n")
    if not said:  # no cell: it took too long, or the kernel died
        return plain.splitlines()[-1]
    cell, _, rest = rest.partition("\n------------------\n")
    streams, _, error = rest.rpartition("\n------------------\n")
    lines = [*cell.splitlines(), "", *streams.splitlines()[-LAST_LINES:], error.strip().splitlines()[-1]]
    return "this cell failed\n" + "\n".join(f"    {line}" for line in lines if line.strip())


if __name__ == "__main__":
    sys.exit(main())
