"""The documentation of Python: the reStructuredText that its pages were made from, one document a page."""

from pathlib import Path

from posenc_jax.data.corpora.corpus import Rows, split_rows

PACKAGE = "python3-doc"


def documents(folder: Path) -> Rows:
    """All pages, by the split of their path; "doc" is that path, such as "library/os.rst.txt"."""
    (root,) = {path.resolve() for path in (folder / PACKAGE).rglob("_sources") if path.is_dir()}
    paths = sorted((path.relative_to(root).as_posix(), path) for path in root.rglob("*.rst.txt"))
    return split_rows([{"text": path.read_bytes().decode(), "doc": name} for name, path in paths])
