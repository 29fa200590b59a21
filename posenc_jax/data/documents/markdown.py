"""Markdown as headings and paragraphs."""

import re

from posenc_jax.data.documents.outline import DocumentBlock

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")  # no ` after the first ones: that would be code within a line
_FRONT_MATTER = re.compile(r"---[ \t]*\n[\w\"'][^\n:]*:(?:[ \t][^\n]*)?\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t]*(?=\n|\Z)")
_LIST_OR_QUOTE = re.compile(r" {0,3}(?:[-*+>]|\d{1,9}[.)])(?:[ \t]|$)")


def markdown_blocks(text: str) -> list[DocumentBlock]:
    """Headings (``# ...`` and underlined ones), and between them paragraphs: lines up to an empty one, a list item, or
    a fenced block, whose lines are one paragraph and never headings. Marks within a text stay as they are. Front matter
    (YAML, ``key: value`` between two lines ``---`` at the very beginning) is no text of the document.

    Reference: CommonMark 0.31.2, sections 4.2 to 4.5 and 4.8.
    """
    text = text.replace("\r\n", "\n")
    blocks: list[DocumentBlock] = []
    lines: list[str] = []
    begun, fence = 1, ""

    def end() -> None:
        joined = " ".join(line.strip() for line in lines).strip()
        if joined:
            blocks.append(DocumentBlock(joined, 0, begun))
        lines.clear()

    front = _FRONT_MATTER.match(text)
    skipped = len(front[0].splitlines()) if front else 0
    for number, line in enumerate(text.splitlines()[skipped:], skipped + 1):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
                end()
            else:
                lines.append(line)
        elif mark:
            end()
            begun, fence = number, mark[1]
        elif heading := _HEADING.match(line):
            end()
            if heading[2]:
                blocks.append(DocumentBlock(heading[2].strip(), len(heading[1]), number))
        elif (under := _UNDERLINE.match(line)) and lines and not _LIST_OR_QUOTE.match(lines[0]):
            blocks.append(
                DocumentBlock(" ".join(part.strip() for part in lines), 1 if under[1][0] == "=" else 2, begun)
            )
            lines.clear()
        elif not line.strip():
            end()
        else:
            if _LIST_OR_QUOTE.match(line):
                end()
            if not lines:
                begun = number
            lines.append(line)
    end()
    return blocks
