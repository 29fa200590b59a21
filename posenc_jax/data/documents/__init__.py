"""Documents with structure: from Markdown, HTML or given spans to sentences that say where they stand."""

from collections.abc import Callable

from posenc_jax.data.documents.html import html_blocks
from posenc_jax.data.documents.markdown import markdown_blocks
from posenc_jax.data.documents.outline import DocumentBlock, NotNested, Part, numbered
from posenc_jax.data.documents.spans import spans_parts

__all__ = ["FORMATS", "SUFFIXES", "DocumentBlock", "NotNested", "Part", "document_parts"]


def _of_blocks(read: Callable[[str], list[DocumentBlock]]) -> Callable[[str, str], list[Part]]:
    return lambda text, what: numbered(read(text), what)


# Format -> the parts of a document; the second argument is what messages call it.
FORMATS: dict[str, Callable[[str, str], list[Part]]] = {
    "markdown": _of_blocks(markdown_blocks),
    "html": _of_blocks(html_blocks),
    "spans": spans_parts,
}

# The end of a file's name -> its format; of another one it says nothing.
SUFFIXES = {".md": "markdown", ".markdown": "markdown", ".html": "html", ".htm": "html", ".json": "spans"}


def document_parts(text: str, form: str, what: str) -> list[Part]:
    """The parts of a document in one of the `FORMATS`, in order; NotNested when its structure does not nest."""
    return FORMATS[form](text, what)
