"""Docstrings of this project as Markdown."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable

from posenc_jax.show.lead import first_paragraph

# A name in single backticks as Markdown: a link, or code.
Linked = Callable[[str], str]

_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$")
_ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*): ")
_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
_FENCE = "```"


def as_code(name: str) -> str:
    """A name as code."""
    return f"`{name}`"


def markdown(doc: str, linked: Linked = as_code) -> str:
    """A docstring as Markdown: paragraphs, lists, formulas and examples as code, sections as bold words."""
    parts = []
    for block in _blocks(inspect.cleandoc(doc)):
        first, _, rest = block.partition("\n")
        if first.lstrip().startswith(">>>"):
            parts.append(f"{_FENCE}pycon\n{textwrap.dedent(block)}\n{_FENCE}")
        elif block.startswith(" "):
            parts.append(f"{_FENCE}text\n{textwrap.dedent(block)}\n{_FENCE}")
        elif _SECTION.match(first):
            parts.append(f"**{first[:-1]}**\n\n{_entries(rest, linked)}")
        else:
            parts.append("\n".join(_item(item, linked) for item in re.split(r"\n(?=- )", block)))
    return "\n\n".join(parts)


def summary(doc: str, linked: Linked = as_code) -> str:
    """The first paragraph as one line of Markdown."""
    return prose(first_paragraph(doc), linked)


def without_formulas(doc: str) -> str:
    """A docstring without its formulas, the blocks indented after ``::``, and without its first paragraph, which is its
    `summary`, where what follows stands by itself.
    """
    blocks = _blocks(inspect.cleandoc(doc))
    formula = [a.endswith("::") and b.startswith(" ") and ">>>" not in b for a, b in zip(["", *blocks], blocks)]
    kept = [block for block, dropped in zip(blocks, formula) if not dropped]
    if kept[1:] and not re.match("[a-z]+ ", kept[1]):
        del kept[0]
    text = re.sub("::(?=\n\n|$)", " (see the formula above).", "\n\n".join(kept))
    return re.sub(r"(\(see the formula above\))\.\n\n(?=[a-z]+ )", r"\1\n", text)  # the sentence goes on


def prose(text: str, linked: Linked = as_code) -> str:
    """Words as Markdown, with what means something to Markdown escaped, outside of code."""
    parts = _CODE.split(text)
    whole = "".join(_code(part, linked) if i % 2 else _escaped(part) for i, part in enumerate(parts)).replace("::", ":")
    return re.sub(r"^(\d+)\.|^([#+|~=-])", lambda m: f"{m[1]}\\." if m[1] else f"\\{m[2]}", whole)


def _code(part: str, linked: Linked) -> str:
    words = " ".join(part.strip("`").split())
    return f"`{words}`" if part.startswith("``") else linked(words)


def _escaped(text: str) -> str:
    return re.sub(r"([\\*_<>\[\]$])", r"\\\1", text)


def _blocks(doc: str) -> list[str]:
    """Paragraphs, and indented blocks whole; a section (``Args:``) holds what is indented below it."""
    blocks: list[str] = []
    for paragraph in doc.split("\n\n"):
        paragraph = paragraph.strip("\n")
        lead, _, rest = paragraph.partition("\n")
        continues = blocks and paragraph.startswith(" ") and not lead.lstrip().startswith(">>>")
        if continues and (blocks[-1].startswith(" ") or _SECTION.match(blocks[-1].partition("\n")[0])):
            blocks[-1] += "\n\n" + paragraph
        elif lead.endswith("::") and rest.startswith(" "):
            blocks += [lead, rest]
        else:
            blocks += _split(paragraph)
    return [block for block in blocks if block]


def _split(paragraph: str) -> list[str]:
    """A paragraph, with a formula that follows its last line at once as a block of its own."""
    lines = paragraph.split("\n")
    for number, line in enumerate(lines):
        if line.endswith("::") and lines[number + 1 :] and lines[number + 1].startswith(" "):
            return ["\n".join(lines[: number + 1]), *_split("\n".join(lines[number + 1 :]))]
    return [paragraph]


def _entry(text: str, linked: Linked) -> str:
    names, _, words = text.partition(": ")
    return f"`{names}`: {prose(words.strip(), linked)}"


def _item(text: str, linked: Linked) -> str:
    """A paragraph, or an item of a list."""
    words = " ".join(text.split())
    return f"- {prose(words[2:], linked)}" if words.startswith("- ") else prose(words, linked)


def _entries(body: str, linked: Linked) -> str:
    """The entries of a section as a list, each with the lines that are indented below it; or its paragraphs."""
    text = textwrap.dedent(body).strip()
    if not _ENTRY.match(text):
        return "\n\n".join(prose(" ".join(paragraph.split()), linked) for paragraph in text.split("\n\n"))
    return "\n".join(f"- {_entry(' '.join(entry.split()), linked)}" for entry in re.split(r"\n+(?=\S)", text))
