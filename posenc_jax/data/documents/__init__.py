"""Documents with structure: from Markdown, HTML or given spans to sentences that say where they stand."""

from collections.abc import Callable

from posenc_jax.data.documents.html import html_blocks
from posenc_jax.data.documents.markdown import markdown_blocks
from posenc_jax.data.documents.outline import Block, Part, numbered
from posenc_jax.data.documents.spans import spans_parts

__all__ = ["FORMATS", "Block", "Part", "document_parts"]


def _of_blocks(read: Callable[[str], list[Block]]) -> Callable[[str, str], list[Part]]:
    return lambda text, what: numbered(read(text), what)


FORMATS: dict[str, Callable[[str, str], list[Part]]] = {
    "markdown": _of_blocks(markdown_blocks),
    "html": _of_blocks(html_blocks),
    "spans": spans_parts,
}
"""Format -> the parts of a document; the second argument is what messages call it."""


def document_parts(text: str, form: str, what: str) -> list[Part]:
    """The parts of a document in one of the `FORMATS`, in order; DataError when its structure does not nest."""
    return FORMATS[form](text, what)
