"""Command lines as they stand in texts: on pages, in docstrings, in helps."""

from __future__ import annotations

import ast
import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """One command: its words, and whether it stands within a sentence, where it may be told in part."""

    words: tuple[str, ...]
    told: bool


_FENCED = re.compile(r"^( *)(`{3,}|~{3,})[^\n]*\n.*?^\1\2 *$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)((?:(?!\n\n).)+?)(?<!`)\1(?!`)", re.DOTALL)
_OPTIONAL = re.compile(r" \[([^\[\]]*)\]")
_OPERATOR = re.compile(r" (?:\||\|\||&&|&|2?>) ?|;|\bdo ")
_BEFORE = re.compile(r"^(?:\$ +|%?!|\w+=\S* +|(?:srun|nice|usage:) +)+")
_COMMAND = re.compile(r"(?:posenc(?= [a-zA-Z-]|$)|scripts/\w+(?= |$))")
_BEGINS = re.compile(rf"{_BEFORE.pattern.removesuffix('+')}*(?:for .*\bdo )?{_COMMAND.pattern}")


def in_file(path: Path) -> list[Line]:
    """Those of a page, or of all strings of a Python file: docstrings, helps, messages."""
    if path.suffix != ".py":
        return list(in_text(path.read_text()))
    return [line for text in _strings(path.read_text()) for line in in_text(text)]


def _strings(source: str) -> Iterator[str]:
    """Every string of a module, with X for what is computed; none of a module that has the name of no command."""
    if not re.search(r"posenc(?!_jax)|scripts/", source):
        return
    tree = ast.parse(source)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.value


def in_text(text: str) -> Iterator[Line]:
    """Those that begin a line, also behind a prompt or a variable; and those within a sentence, in backticks.

    >>> [line.words for line in in_text("    $ A=1 posenc list rope   # all about one\\n`posenc report [DIR]` writes")]
    [('posenc', 'list', 'rope'), ('posenc', 'report'), ('posenc', 'report', 'DIR')]
    """
    for line in re.sub(r" *\\\n *", " ", text).splitlines():
        yield from _read(re.split(r" #| {3,}", line.strip())[0], told=False)
    for span in _SPAN.finditer(_FENCED.sub("", text)):
        yield from _read(" ".join(span[2].split()), told=True)


def _read(line: str, *, told: bool) -> Iterator[Line]:
    if not _BEGINS.match(line):
        return
    for reading in _readings(line):
        for part in _OPERATOR.split(reading):
            command = _BEFORE.sub("", part.strip())
            if _COMMAND.match(command):
                yield from (Line(words, told) for words in _alternatives(command))


def _readings(line: str) -> Iterator[str]:
    """``a [b | c] [d]`` as a, a b, a c, a d; what stands for overrides is left out."""
    bare = _OPTIONAL.sub("", line)
    yield bare
    for part in _OPTIONAL.findall(line):
        yield from (f"{bare} {one}" for one in part.split(" | ") if one not in ("overrides", "..."))


def _alternatives(command: str) -> Iterator[tuple[str, ...]]:
    """The words, once for each of ``a|b``."""
    words = shlex.split(command)
    choices = [word.split("|") if re.fullmatch(r"[a-z]+(\|[a-z]+)+", word) else [word] for word in words]
    yield from itertools.product(*choices)
