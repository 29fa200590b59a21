"""Citations as BibTeX."""

from __future__ import annotations

import dataclasses
import itertools
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable

from posenc_jax.drawing import tex
from posenc_jax.drawing.plain import plain

_INITIALS = r"[^\W\d_]{1,2}\.(?:[ -]?[^\W\d_]{1,2}\.)*"  # N. A., T.-Y.
_PERSON = rf"[^\W\d_][^,.()]*, {_INITIALS}"
_PEOPLE = rf"{_PERSON}(?:(?:, |,? and |,? & ){_PERSON})*(?:,? et al\.?)?"
_FAMILY = r"(?:[a-z]+ )*[^\W\d_a-z][\w'’-]*"
_FAMILIES = rf"{_FAMILY}(?: et al\.?|(?:, {_FAMILY})*,? and {_FAMILY})"
_ACRONYM = r"[A-Z]\w*[A-Z]\w*(?:-[A-Z]+)*"  # ICLR, NeurIPS, NAACL-HLT
_CONFERENCE = rf"(?:Findings of |Proceedings of ).+|{_ACRONYM}(?: \d{{4}})?"
_JOURNAL = r"(?P<journal>JMLR|TMLR|TACL|.*\b(?:Journal|Transactions|Letters)\b\D*?)"
_JOURNAL += r"(?: (?P<volume>\d+)(?:\((?P<number>\d+)\))?)?"

# "Press, O., Smith, N. A. (2022). Title. Where. arXiv:0000.00000."
_FULL = re.compile(r"(?:[a-z]+: )?(?P<who>[^()]+?),? \((?P<year>\d{4})[a-z]?\)[.,:]? (?P<rest>.+)")
# "Kazemnejad et al., NeurIPS 2023, arXiv:0000.00000", "table: Lake and Baroni 2018, Title"
_SHORT = rf"(?:[a-z]+: )?(?P<who>{_FAMILIES}),? (?:(?P<venue>{_CONFERENCE}),? )?(?P<year>(?:19|20)\d\d)(?![\w-])"
_SHORT += "(?P<rest>.*)"
_NEXT = re.compile(  # before each work but the first
    rf"(?<=[.;])(?<!\.\.\.)\s(?!and )(?=(?:[a-z]+: )?(?:{_PEOPLE}|{_FAMILIES}) ?\(\d{{4}})"
    rf"|;\s(?={re.sub('[?]P<[a-z]+>', '?:', _SHORT)})"
)

_NUMBER = r"(?P<arxiv>\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]+)?/\d{7})(?:v\d+)?"
_ARXIV = re.compile(rf"(?:arXiv: ?|(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf)/){_NUMBER}(?:\.pdf)?", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:)]|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/[^\s<>\"]*[^\s<>\".,;:)]")


@dataclasses.dataclass(frozen=True)
class _Work:
    """Fields of a citation; if it cannot be parsed, ``note`` is its text and there are no authors."""

    authors: tuple[str, ...] = ()
    year: str = ""
    title: str = ""
    venue: str = ""
    arxiv: str = ""
    url: str = ""
    note: str = ""

    @property
    def same(self) -> tuple[str, ...]:
        """Equal for two citations of one work."""
        if self.arxiv:
            return (self.arxiv,)
        parts = (*self.authors[:1], self.year, self.title or self.venue) if self.authors else (self.note,)
        return tuple(part.casefold() for part in parts)

    @property
    def told(self) -> tuple[bool, int]:
        """Larger for the citation of a work that tells more."""
        return bool(self.title), len(self.authors)


def entries(citations: Iterable[str]) -> str:
    """The works that citations name as BibTeX: an entry for each, in order of first use; "" where there are none.

    A citation is a full one, "Su, J., Lu, Y. (2021). Title. Where. arXiv:2104.09864.", or a short one, "Su et al.,
    NeurIPS 2021, arXiv:2104.09864", or several of them. From citations with the same arXiv number the most complete one
    is taken. A citation that cannot be parsed is the ``note`` of an entry; nothing is raised. Letters stay UTF-8, and
    TeX's special characters are escaped, except in ``url``, which is read as it is.

    >>> print(entries(["Su et al., 2021, arXiv:2104.09864", "Su, J., Lu, Y. (2021). RoFormer. arXiv:2104.09864."]))
    @misc{su2021roformer,
      author = {Su, J. and Lu, Y.},
      title = {{RoFormer}},
      year = {2021},
      eprint = {2104.09864},
      archivePrefix = {arXiv},
    }
    <BLANKLINE>
    """
    works: dict[tuple[str, ...], _Work] = {}
    for citation in citations:
        for part in filter(None, _NEXT.split(" ".join(plain(citation).split()))):
            work = _read(part)
            works[work.same] = max(works.get(work.same, work), work, key=lambda of: of.told)
    keys = _keys([_stem(work) for work in works.values()])
    return "\n".join(_entry(key, work) for key, work in zip(keys, works.values(), strict=True))


def _read(text: str) -> _Work:
    """The work of one citation."""
    if found := _FULL.fullmatch(text):
        if authors := _authors(found["who"]):
            title, arxiv, url, note = _title(found["rest"])
            *start, last = re.split(r"(?<=[.?!]) ", title)
            venue = last if start and last[-1] not in "?!" else ""
            title = title.removesuffix(venue).strip(" .,;")
            return _Work(authors, found["year"], title, _of_year(venue, found["year"]), arxiv, url, note)
    elif found := re.fullmatch(_SHORT, text):
        title, arxiv, url, note = _title(found["rest"])
        title = title.strip(" .,;")
        return _Work(_authors(found["who"]), found["year"], title, found["venue"] or "", arxiv, url, note)
    year = re.search(r"\((\d{4})\)", text)
    return _Work(note=text, year=year[1] if year else "")


def _title(rest: str) -> tuple[str, str, str, str]:
    """The text before the addresses, the arXiv number, the first other address, and the remaining text."""
    arxiv = _ARXIV.search(rest)
    urls = [url[0] if "://" in url[0] else f"https://{url[0]}" for url in _URL.finditer(_ARXIV.sub("", rest))]
    before, *after = (part.strip(" .,;") for part in _URL.sub("\n", _ARXIV.sub("\n", rest)).split("\n"))
    said = [*filter(None, after), *urls[1:]]
    return before or (said.pop(0) if said else ""), arxiv["arxiv"] if arxiv else "", "".join(urls[:1]), "; ".join(said)


def _authors(text: str) -> tuple[str, ...]:
    """One a person, as BibTeX has them; those left out are "others". None, where this is no list of names."""
    people = re.split(r",? (?:and|&) ", text)
    if len(people) > 1 and all(person.count(",") == 1 for person in people):
        return tuple(people)
    found: list[str] = []
    for name in re.split(r",? et al\.?|, (?:and |& )?|,? (?:and|&) ", re.sub(r"(?<!,) et al", ", et al", text)):
        if found and re.fullmatch(_INITIALS, name):
            found[-1] += f", {name}"
        elif name.startswith("..."):  # the last one's name follows
            return (*found, "others")
        elif name:
            found.append(name)
    if "et al" in text:
        return (*found, "others")
    return tuple(found) if len(found) > 1 or len(found[0].split()) < 5 else ()


def _of_year(venue: str, year: str) -> str:
    """A venue's name without its last full stop, and without the year of the entry."""
    return venue.rstrip(".").removesuffix(f" {year}")


def _stem(work: _Work) -> str:
    """The first author's family name, the year and the first long word, in the letters of a key."""
    family = work.authors[0].partition(",")[0] if work.authors else ""
    words = re.findall(r"[a-z]+", _ascii(work.title if work.authors else work.note))
    word = next((word for word in words if len(word) > 3), "".join(words[:1]))
    return re.sub(r"[^a-z\d]", "", _ascii(family)) + work.year + word or "work"


def _ascii(text: str) -> str:
    """The text in lower case without accents."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()


def _keys(stems: list[str]) -> list[str]:
    """The stems; those that stand there several times end in a, b and so on."""
    count, taken = Counter(stems), set(stems)
    keys = []
    for stem in stems:
        if count[stem] > 1:
            endings = (letter * times for times in itertools.count(1) for letter in string.ascii_lowercase)
            stem = next(stem + ending for ending in endings if stem + ending not in taken)
            taken.add(stem)
        keys.append(stem)
    return keys


def _entry(key: str, work: _Work) -> str:
    kind, where = "misc", {"howpublished": work.venue}
    if work.title and (journal := re.fullmatch(_JOURNAL, work.venue)):
        kind, where = "article", {name: value or "" for name, value in journal.groupdict().items()}
    elif work.title and re.fullmatch(_CONFERENCE, work.venue):
        kind, where = "inproceedings", {"booktitle": work.venue}
    fields = {"author": " and ".join(_name(author, work) for author in work.authors)}
    fields |= {"title": f"{{{_tex(work.title)}}}" if work.title else ""}
    fields |= {name: _tex(value) for name, value in where.items()} | {"year": work.year}
    fields |= {"eprint": _tex(work.arxiv), "archivePrefix": "arXiv" if work.arxiv else ""}
    fields |= {"url": re.sub(r"[{}\\]", lambda found: f"%{ord(found[0]):X}", work.url), "note": _tex(work.note)}
    fields |= {"key": "" if work.authors else key}  # what bibtex sorts by where nobody is named
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}", ""])


def _name(author: str, work: _Work) -> str:
    """A lone name of several words is a group's and stays in one piece."""
    text = _tex(author)
    return f"{{{text}}}" if len(work.authors) == 1 and "," not in author and " " in author else text


def _tex(text: str) -> str:
    escaped = tex.escaped(re.sub(r'"([^"]*)"', r"“\1”", text))
    return escaped.replace("“", "``").replace("”", "''")
