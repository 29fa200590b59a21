"""The documentation of Python: the reStructuredText that its pages were made from, one document a page."""

from pathlib import Path

from posenc_jax.data.corpora.corpus import DataError, Rows, read_text, split_rows
from posenc_jax.files.user_paths import real

SOURCES = "_sources"
"""The folder where Sphinx leaves the sources of its pages."""


def documents(folder: Path) -> Rows:
    """All pages, by the split of their path; "doc" is that path, such as "library/os.rst.txt".

    Any version will do: the sources are found by the name of their folder.

    Errors: DataError for no page, an empty one, a byte that is not UTF-8, and more than one version.
    """
    roots = sorted({real(path) for path in folder.rglob(SOURCES) if path.is_dir()})
    if leaving := [root for root in roots if not root.is_relative_to(real(folder))]:
        raise DataError(f"a link in {folder} leads out of it, to {leaving[0]}: put the files themselves there")
    if len(roots) > 1:
        raise DataError(f"{folder} holds {len(roots)} versions, {roots[0]} and {roots[1]}: keep the folder of one")
    paths = sorted((path.relative_to(root).as_posix(), path) for root in roots for path in root.rglob("*.rst.txt"))
    if not paths:
        raise DataError(
            f"{folder} holds no file {SOURCES}/**/*.rst.txt: the folder needs the documentation of Python with its "
            "sources, as `dpkg-deb -x` unpacks the package python3.11-doc, or that of another version"
        )
    rows = [{"text": read_text(path, real(folder)), "doc": name} for name, path in paths]
    empty = [row["doc"] for row in rows if not row["text"].strip()]
    if empty:
        raise DataError(f"{folder}: {empty[0]} is empty, which no page is: unpack its package again")
    return split_rows(rows)
