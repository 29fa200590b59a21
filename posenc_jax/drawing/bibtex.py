"""Citations: BibTeX entries as classes hold them, as prose and as a file."""

import itertools
import re
from collections.abc import Iterable

from posenc_jax.drawing import tex
from posenc_jax.drawing.plain import plain

_BRACED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
_FIELD = rf"(\w+)\s*=\s*({_BRACED}|\"[^\"]*\"|\d+)"
_ENTRY = re.compile(rf"@(\w+)\{{([\w:./+-]+)((?:\s*,\s*{_FIELD})+)\s*,?\s*\}}")
# Of LaTeX, but for accents, letters and faces of type; or a character by its number.
_COMMAND = re.compile(r"\\(?=[A-Za-z@]{2})(?!(?:aa|ae|oe|ss|AA|AE|OE|url|emph|text[a-z]{2})(?![A-Za-z@]))|\^\^")

Entry = tuple[str, str, dict[str, str]]
"""Kind, key and fields."""


def prose(citation: str) -> str:
    """A citation in words; one that is no BibTeX as it is.

    >>> prose("@misc{su2021roformer, author = {Su, J. and Lu, Y.}, year = {2021}, title = {{RoFormer}}}")
    'Su, J., Lu, Y. (2021). RoFormer.'
    """
    found = _entries(citation)
    return "; ".join(_prose(fields).removesuffix(".") for _, _, fields in found) + "." if found else citation


def bibtex(citations: Iterable[str]) -> str:
    """The works that citations name: an entry for each, in order of first use, by the citation that names most authors;
    "" where there are none. A citation that is no BibTeX is the ``note`` of an entry. Letters stay UTF-8. Commands of
    LaTeX for accents, letters, addresses and faces of type stay, any other is text.
    """
    found: dict[str, Entry] = {}
    for text in filter(str.strip, citations):
        said = " ".join(plain(text).split())
        entries = [
            (kind, key, {name: _harmless(fields[name]) for name in fields}) for kind, key, fields in _entries(text)
        ]
        for entry in entries or [("misc", "", {"note": tex.escaped(said)})]:
            before = found.get(entry[1] or said, entry)
            found[entry[1] or said] = max(before, entry, key=lambda one: len(one[2].get("author", "")))
    keys = {key for _, key, _ in found.values()}
    written = []
    for said, (kind, key, fields) in found.items():
        if not key:
            word = next(iter(re.findall("[a-z]{4,}", said.lower())), "work")
            key = next(key for i in itertools.count() if (key := word + str(i or "")) not in keys)
            keys.add(key)
            fields["key"] = key  # what bibtex sorts by where nobody is named
        body = [f"  {name} = {{{value}}}," for name, value in fields.items()]
        written.append("\n".join([f"@{kind}{{{key},", *body, "}", ""]))
    return "\n".join(written)


def _harmless(value: str) -> str:
    return _COMMAND.sub(lambda command: tex.escaped(command[0]), value)


def _entries(text: str) -> list[Entry]:
    found = []
    for kind, key, body, *_ in _ENTRY.findall(plain(text)):
        fields: dict[str, str] = {}
        for name, value in re.findall(_FIELD, body):
            fields[name] = " ".join((value[1:-1] if value[0] in '{"' else value).split())
            if name == "eprint":
                fields.setdefault("archivePrefix", "arXiv")
        found.append((kind, key, fields))
    return found


def _prose(fields: dict[str, str]) -> str:
    told = {name: re.sub(r"``|''", '"', re.sub(r"[{}]|\\(?=\W|_)", "", value)) for name, value in fields.items()}
    *people, last = told.get("author", "nobody").split(" and ")
    who = ", ".join(people)
    if last == "others":
        who += ", et al." if "," in who else " et al."
    elif people:
        who += f", {last}" if "," in last else f" and {last}"
    where = told.get("booktitle") or told.get("howpublished") or told.get("journal", "")
    where += f" {told['volume']}({told['number']})" if {"volume", "number"} <= told.keys() else ""
    arxiv = f"arXiv:{told['eprint']}" if "eprint" in told else ""
    parts = [f"{who or last} ({told.get('year', 'no year')})", told.get("title", ""), where, arxiv]
    parts += [told.get("url", ""), told.get("note", "")]
    said = " ".join(part if part.endswith(("?", "!")) else f"{part}." for part in parts if part)
    return f"{told['annote']}: {said}" if "annote" in told else said
