"""Sources of an encoding's page: the registry's row, its classes, and the facts that are kept in files."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any

from documenting.formula import explained

ROOT = Path(__file__).resolve().parent.parent.parent
FACTS = ROOT / "scripts" / "docs" / "encodings" / "facts.toml"
AUDIT = ROOT / "scripts" / "catalogue_audit.json"
GOLDEN = ROOT / "posenc_jax" / "golden" / "encodings-v1.json"
VERDICTS = ROOT / "experiments" / "verdicts"
NEEDED = ("math", "use", "traps")
OPTIONAL = ("differs", "symbols", "citation")


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One page.

    Attributes:
      method: the row of the catalogue.
      classes: what its spec is made of, by word.
      main: those that the row is about.
      facts: the row's table of `FACTS`.
      bibtex: one entry.
      symbols: those of its formula, in LaTeX, and their meanings.
      audit, golden: the kept records.
      verdicts: those in which the spec was measured, by file.
    """

    method: Any
    classes: dict[str, type]
    main: tuple[str, ...]
    facts: dict[str, Any]
    bibtex: str
    symbols: dict[str, str]
    audit: dict[str, Any]
    golden: dict[str, Any]
    verdicts: dict[str, dict[str, Any]]

    @property
    def page(self) -> str:
        """The page's name in the folder of encodings."""
        return page_name(self.method.name)


def page_name(name: str) -> str:
    """The file name, without ending, of the page of a method.

    >>> page_name("Sinusoidal, tensor2tensor's form")
    'sinusoidal-tensor2tensors-form'
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("'", "")).strip("-")


def lacking(facts: dict[str, Any] | None = None) -> list[str]:
    """What is not written yet of encodings: their sources, facts, formulas and citations; and facts of no row."""
    from posenc_jax.drawing.bibtex import prose
    from posenc_jax.encodings import ENCODINGS
    from posenc_jax.encodings.catalogue import CATALOGUE

    facts = tomllib.loads(FACTS.read_text()) if facts is None else facts
    methods = {method.name: method for family in CATALOGUE.values() for method in family}
    problems = [f"{name}: facts.toml has it, the catalogue not" for name in facts if name not in methods]
    for cls in ENCODINGS.values():
        if not cls.paper.startswith(("arXiv:", "https://")):
            problems.append(f"{cls.__name__}.paper = {cls.paper!r} is no source: write arXiv:... or https://...")
        elif prose(cls.citation).count(cls.paper) != 1:
            problems.append(f"{cls.__name__}.citation = {cls.citation!r} must name {cls.paper} once")
    for method in methods.values():
        try:
            _by_hand(method, facts.get(method.name, {}))
        except ValueError as error:
            problems.append(f"encodings/{page_name(method.name)}: {error}")
    return problems


def rows(facts: dict[str, Any] | None = None) -> list[Row]:
    """Every row of the catalogue, in its order.

    Raises:
      ValueError: naming the pages that lack something, and what; or facts of no row.
    """
    from posenc_jax.encodings.catalogue import CATALOGUE

    facts = tomllib.loads(FACTS.read_text()) if facts is None else facts
    audit, golden = (
        {(r["name"], r["spec"]): r for r in json.loads(path.read_text())[key]}
        for path, key in ((AUDIT, "encodings"), (GOLDEN, "rows"))
    )
    verdicts = {
        path.relative_to(VERDICTS).with_suffix("").as_posix(): json.loads(path.read_text())
        for path in (*sorted(VERDICTS.glob("*.json")), *sorted(VERDICTS.glob("all_tables/*.json")))
    }
    specs = {
        name: [m["spec"] for of in card["measured"].values() for m in of.values()] for name, card in verdicts.items()
    }
    methods = [method for family in CATALOGUE.values() for method in family]
    problems = lacking(facts) + [
        f"encodings/{page_name(m.name)}: no golden values or no audit: run scripts/regenerate"
        for m in methods
        if (m.name, m.spec) not in audit.keys() & golden.keys()
    ]
    if problems:
        raise ValueError("\n".join(problems))
    return [
        Row(
            method,
            *_by_hand(method, facts[method.name]),
            audit[method.name, method.spec],
            golden[method.name, method.spec],
            # A verdict may have set fields from the training lengths; then the label tells.
            {
                name: own
                for name, own in verdicts.items()
                if {method.spec, method.name} & {*specs[name], *own["measured"]}
            },
        )
        for method in methods
    ]


def _by_hand(
    method: Any, facts: dict[str, Any]
) -> tuple[dict[str, type], tuple[str, ...], dict[str, Any], str, dict[str, str]]:
    """Classes, main words, facts, BibTeX and symbols of a row; ValueError for what it lacks."""
    for name in NEEDED:
        if not facts.get(name):
            raise ValueError(f"{name!r} is missing: write it in scripts/docs/encodings/facts.toml")
    for name, value in facts.items():
        if name not in (*NEEDED, *OPTIONAL):
            raise ValueError(f"{name!r} is none of {', '.join((*NEEDED, *OPTIONAL))}: correct it in facts.toml")
        if not value:
            raise ValueError(f"{name!r} is empty: leave it out of facts.toml")
    classes = _classes(method.spec)
    cited = [word for word, cls in classes.items() if _cites(cls, method.link)] or list(classes)[-1:]
    main = tuple(word for word, cls in classes.items() if word in cited or _has(cls, method))
    symbols = explained(facts["math"], facts.get("symbols", {}))
    return classes, main, facts, citation(method, [classes[word] for word in main], facts), symbols


def _classes(spec: str) -> dict[str, type]:
    """The classes that a spec names, by word, each once."""
    from posenc_jax.encodings import ENCODINGS, SCALINGS

    known = {**SCALINGS, **ENCODINGS}
    words = re.findall(r"[a-z_]\w*(?!\w|=)", re.sub(r"'[^']*'", "", spec))
    return {word: known[word] for word in words if word in known}


def citation(method: Any, classes: list[type], facts: dict[str, Any]) -> str:
    """BibTeX of the paper of a row: from its facts, else from the class that cites the row's paper.

    Raises:
      ValueError: nothing cites it.
    """
    from posenc_jax.drawing.bibtex import bibtex

    given = [facts["citation"]] if "citation" in facts else []
    given += [cls.citation for cls in classes if _cites(cls, method.link)]
    if not given:
        raise ValueError(f"no citation of {method.link}: write one in its class, or in facts.toml")
    return bibtex(given[:1]).strip()


def _has(cls: Any, method: Any) -> bool:
    """True if the row is written in the class."""
    return method.name in (own.name for own in cls.methods)


def _cites(cls: Any, link: str) -> bool:
    from posenc_jax.drawing.bibtex import prose

    return link in f"{cls.paper} {prose(cls.citation)}"
