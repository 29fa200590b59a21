"""Pages that are written by hand, as the site has them: their links to other files of the repository lead somewhere."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import shutil
from pathlib import Path

from documenting.notebooks import FOLDER, OF_REPOSITORY, notebook, with_notebook
from posenc_jax.show.lessons import NAMES, numbered
from posenc_jax.show.lessons.pages import for_site

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "scripts" / "docs"
EXPERIMENTS = ROOT / "experiments"
LESSONS = ROOT / "posenc_jax" / "show" / "lessons"
SMALL = "_small"
"""The folder of sources that is copied to the site as it is: its files are shown or linked by their address."""
GENERATED = ("encodings", "experiments", "reference")

_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)((?:\s+\"[^\"]*\")?)\)")
_FENCED = re.compile(r"(^ *(?P<fence>`{3,}|~{3,})[^\n]*\n.*?^ *(?P=fence) *$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_TOCTREE = re.compile(r"^(```\{toctree\})\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^ *#+ +(.*?) *#*$", re.MULTILINE)


@functools.cache
def written() -> dict[str, Path]:
    """The pages of the site that are in the repository: their name on the site, and their file."""
    lessons = {f"start/lessons/{name}.md": LESSONS / f"{name}.md" for name in NAMES}
    lessons["start/lessons.md"] = LESSONS / "README.md"
    docs = {str(path.relative_to(DOCS)): path for path in sorted(DOCS.rglob("*.md"))}
    measured = {f"measured/{path.parent.name}.md": path for path in sorted(ROOT.glob("scripts/*/README.md"))}
    return docs | lessons | measured | {experiment_page(path): path for path in sorted(EXPERIMENTS.rglob("*.md"))}


def experiment_page(path: Path) -> str:
    """The address of an experiment's Markdown file on the site."""
    folder, name = "_".join(path.parent.relative_to(EXPERIMENTS).parts), path.stem
    return f"experiments/{folder}.md" if name == "README" else f"experiments/{folder}-{name}.md"


def copy(page: str, path: Path, target: Path, *, executes: bool = False) -> None:
    """Writes one page into the folder of sources ``target``, with the files that it shows or links to; a lesson is run
    if ``executes``.
    """

    def led(link: str) -> str:
        file, _, anchor = link.partition("#")
        found = (path.parent / file).resolve()
        if found.is_dir():
            found /= "README.md"
        tail = f"#{anchor}" if anchor else ""
        for name, own in written().items():
            if own == found:
                return f"/{name}{tail}"
        place = Path("files") / found.relative_to(ROOT)
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, target / place)
        return f"/{place}"

    def kept(link: str) -> bool:
        return is_elsewhere(link) or (path.is_relative_to(DOCS) and made(page, link))

    destination = target / page
    destination.parent.mkdir(parents=True, exist_ok=True)
    text, cells = path.read_text(), ""
    if path.parent == LESSONS and path.stem in NAMES:
        text, cells = for_site(*numbered(path.stem), runs=executes)
    text = with_pages_that_are_there(text, {*written(), *generated()}, Path(page).parent)
    text = with_notebook(page, text, target / SMALL, cells)
    destination.write_text(relinked(text, lambda link: link if kept(link) else led(link)))


def with_pages_that_are_there(text: str, known: set[str], folder: Path = Path()) -> str:
    """Markdown of a page in ``folder`` whose tables of contents (``toctree``) leave out what names no further page of
    ``known``.
    """

    def kept(block: re.Match[str]) -> str:
        lines = block[2].splitlines()
        options = [line for line in lines if line.startswith(":")]
        entries, rest = [], set(known)
        for line in lines:
            if line and line not in options and (found := fnmatch.filter(rest, str(folder / f"{line}.md"))):
                entries.append(line)
                rest.difference_update(found)
        return "\n".join([block[1], *options, "", *entries, "```"]) if entries else ""

    return _TOCTREE.sub(kept, text)


def relinked(text: str, led) -> str:
    """Markdown with ``led(address)`` in place of every address outside of code."""
    found, end = [], 0
    for link in _LINK.finditer(_without_code(text)):
        start, stop = link.span(2)
        found += [text[end:start], led(text[start:stop])]
        end = stop
    return "".join([*found, text[end:]])


def notebooks_of_repository() -> dict[Path, str]:
    """The notebooks of `OF_REPOSITORY`; their links lead from where they lie to what their page links to."""
    folder = ROOT / "scripts" / FOLDER
    found = {}
    for name, page in OF_REPOSITORY.items():
        home = (DOCS / page).parent

        def led(link: str, home: Path = home) -> str:
            return link if is_elsewhere(link) else os.path.relpath(home / link, folder)

        found[folder / f"{name}.ipynb"] = notebook(relinked((DOCS / page).read_text(), led))
    return found


def links(text: str) -> list[str]:
    """The addresses of a Markdown text, those in code aside."""
    return [link[2] for link in _LINK.finditer(_without_code(text))]


def _without_code(text: str) -> str:
    """The text with as many letters in place of its code, which may stand in the text of a link."""
    return _FENCED.sub(lambda code: re.sub(".", "x", code[0]), text)


def is_elsewhere(link: str) -> bool:
    """True if an address is that of another site, or within the page."""
    return link.startswith(("http://", "https://", "mailto:", "#"))


def made(page: str, link: str) -> bool:
    """True if a link leads to a page that the build makes."""
    file = link.partition("#")[0]
    place = file.removeprefix("/") if file.startswith("/") else os.path.normpath(str(Path(page).parent / file))
    return place.split("/")[0] in GENERATED and place not in written() and not (DOCS / place).exists()


def broken() -> list[str]:
    """A line for every link of a written page that leads nowhere: no file, no heading, no page that is made."""
    known = generated()
    found = []
    for page, path in written().items():
        for link in links(path.read_text()):
            if is_elsewhere(link) and not link.startswith("#"):
                continue
            file, _, anchor = link.partition("#")
            if made(page, link) and path.is_relative_to(DOCS):
                place = file.removeprefix("/") if file.startswith("/") else os.path.normpath(Path(page).parent / file)
                if place not in known:
                    found.append(f"{page}: {link} is no page")
                continue
            if file.startswith("/"):
                target = written().get(file.removeprefix("/"), DOCS / file.removeprefix("/"))
            else:
                target = (path.parent / file).resolve() if file else path
            target = target / "README.md" if target.is_dir() else target
            if not target.exists():
                found.append(f"{page}: {link} is no file")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                found.append(f"{page}: {link} is no heading")
    return found


@functools.cache
def generated() -> frozenset[str]:
    """The names of the pages that are made."""
    from documenting.api import packages, pages
    from documenting.rows import page_name
    from posenc_jax.encodings.catalogue import CATALOGUE

    encodings = {f"encodings/{page_name(method.name)}.md" for family in CATALOGUE.values() for method in family}
    reference = {f"reference/{name}.md" for package in packages() for name in pages(package)}
    fixed = {"encodings/index.md", "experiments/index.md", "reference/api.md"}
    return frozenset(
        encodings | reference | fixed | {f"reference/{name}.md" for name in ("configs", "tasks", "commands")}
    )


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a Markdown text."""
    outside = _FENCED.sub(lambda code: "" if code["fence"] else code[0], text)
    return {anchor(title) for title in _HEADING.findall(outside)} | set(
        re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    )


def anchor(title: str) -> str:
    """The anchor of a heading, as GitHub makes it.

    >>> anchor("Does position 5 look like `68`?")
    'does-position-5-look-like-68'
    """
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()).replace(" ", "-")


def title(text: str) -> str:
    """The first heading."""
    found = _HEADING.search(text)
    return found[1] if found else ""
