"""A citation as BibTeX."""

from __future__ import annotations

import re

_TEXT = re.compile(r"^(?P<authors>.+?) \((?P<year>\d{4})\)\. (?P<title>.+?[.?])(?: (?P<rest>.*))?$")


def bibtex(citation: str, link: str) -> str:
    """The BibTeX entry of "Authors (year). Title. Where. Address.", whose address is ``link``.

    Raises:
      ValueError: the citation has not this form.

    >>> print(bibtex("Su, J., Lu, Y. (2021). RoFormer: Enhanced. arXiv:2104.09864.", "arXiv:2104.09864"))
    @misc{su2021roformer,
      author = {Su, J. and Lu, Y.},
      title = {{RoFormer: Enhanced}},
      year = {2021},
      eprint = {2104.09864},
      archivePrefix = {arXiv},
    }
    """
    found = _TEXT.match(citation)
    if found is None:
        raise ValueError(f"the citation {citation!r} is not of the form 'Authors (year). Title. Where.'")
    title = found["title"].removesuffix(".")
    authors = _authors(found["authors"])
    word = next((w for w in re.findall(r"[a-z]+", title.lower()) if w not in ("a", "an", "the", "on")), "")
    fields = {"author": " and ".join(authors), "title": f"{{{title}}}", "year": found["year"]}
    where = re.sub(r"(arXiv:\S+|https?://\S+|github\.com\S+)", "", found["rest"] or "").strip(" .,;")
    if where:
        fields["note"] = where
    if link.startswith("arXiv:"):
        fields |= {"eprint": link.removeprefix("arXiv:"), "archivePrefix": "arXiv"}
    else:
        fields["url"] = link
    name = re.sub(r"\W", "", authors[0].partition(",")[0].lower())
    lines = [f"  {field} = {{{value}}}," for field, value in fields.items()]
    return "\n".join([f"@misc{{{name}{found['year']}{word},", *lines, "}"])


def _authors(text: str) -> list[str]:
    """One a person: ``Su, J., Lu, Y.`` is two; "et al." and "..." are BibTeX's "others"."""
    people = [name.strip(" ,") for name in re.split(r"(?<=\.),\s+(?=[^\W\d_a-z]|et al|\.\.\.)", text)]
    found = []
    for person in people:
        if person.startswith("..."):
            found += ["others"]
        else:
            found += ["others"] if person in ("et al.", "et al") else [person]
    return found
