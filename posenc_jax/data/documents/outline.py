"""Splits blocks of a document into sentences with nested numbers: section, subsection, paragraph, sentence."""

import itertools
import re
from typing import NamedTuple

from posenc_jax.data.errors import DataError

# At ``.!?…。！？`` or at the end of a line.
END = re.compile(r"[.!?…][\"'”’»)\]]*\s+|[。！？][」』）]*|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of a text, as `END` says; white space between them is dropped.

    >>> sentences("One two. Three?  Four")
    ['One two.', 'Three?', 'Four']
    """
    ends = [0, *(match.end() for match in END.finditer(text)), len(text)]
    return [sentence for start, end in itertools.pairwise(ends) if (sentence := text[start:end].strip())]


class NotNested(DataError):
    """The structure of a document does not nest.

    Attributes:
      why: what is wrong.
      line: of the text, None where spans say what its parts are.
    """

    def __init__(self, what: str, why: str, line: int | None = None, joint: str = ": ") -> None:
        super().__init__(f"{what}{'' if line is None else f', line {line}'}{joint}{why}")
        self.why, self.line = why, line

    def at(self, where: str, *, of_many_lines: bool) -> tuple[str, str]:
        """The location and the fault, for a text that begins at ``where`` (``FILE:LINE``).

        Args:
          of_many_lines: whether the lines of the text are those of the file, and not within one line or row of it.
        """
        if self.line is None:
            return where, self.why
        if not of_many_lines:
            return where, f"line {self.line} of its text: {self.why}"
        path, _, first = where.rpartition(":")
        return f"{path}:{int(first) + self.line - 1}", self.why


# Levels of headings that are axes of their own; a deeper heading begins a paragraph.
LEVELS = 2


class DocumentBlock(NamedTuple):
    """A heading (``level`` 1, 2, ... from the top) or a paragraph (0) with its text, and the line where it begins."""

    text: str
    level: int
    line: int


class Part(NamedTuple):
    """A sentence, or a heading, and where it stands.

    Attributes:
      section: the name of its section, its outermost heading as `name_of` writes it; "" before the first.
      coordinates: (section, subsection, paragraph, sentence), each counted from 1 within the one around it; 0 for what
        stands above it: text between a section's heading and its first subsection has subsection 0, a heading
        paragraph 0.
    """

    text: str
    section: str
    coordinates: tuple[int, int, int, int]


def name_of(heading: str) -> str:
    """A heading as the name of a section: lower case, without numbers before it, words joined by ``_``.

    >>> [name_of(heading) for heading in ("Introduction", "2.1 Related work", "Q & A")]
    ['introduction', 'related_work', 'q_a']
    """
    words = re.sub(r"^[\W\d_]+", "", heading.lower()) or heading.lower()
    return "_".join(re.findall(r"\w+", words))


def numbered(blocks: list[DocumentBlock], what: str) -> list[Part]:
    """The parts of a document, ``what`` in messages.

    The first heading says which level is the outermost. NotNested: a heading more than one level below the one before
    it, or above the first one.
    """
    parts: list[Part] = []
    top, before, section = 0, 0, ""
    coordinates = [0, 0, 0]
    for block in blocks:
        if block.level:
            top = top or block.level
            level = block.level - top + 1
            _check(block, level, before, top, what)
            before = level
            if level <= LEVELS:
                coordinates = [*coordinates[: level - 1], coordinates[level - 1] + 1, *[0] * (LEVELS - level), 0]
                section = name_of(block.text) if level == 1 else section
                parts.append(Part(block.text, section, (coordinates[0], coordinates[1], 0, 1)))
                continue
        coordinates[LEVELS] += 1
        for number, sentence in enumerate(sentences(block.text), 1):
            parts.append(Part(sentence, section, (coordinates[0], coordinates[1], coordinates[2], number)))
    return parts


def _check(block: DocumentBlock, level: int, before: int, top: int, what: str) -> None:
    named = f"the heading {block.text[:40]!r} of level {block.level}"
    if level < 1:
        raise NotNested(
            what, f"{named} stands above the first one, of level {top}: begin with the outermost level", block.line
        )
    if level > before + 1:
        why = f"{named} does not nest: the one before it is of level {before + top - 1}; go down one level at a time"
        raise NotNested(what, why, block.line)
