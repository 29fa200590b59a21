"""Provenance of an ablation's results: the code that computed each cell, and whether it is bit-exact.

A cell of ``ablation.json`` has ``bit_exact``, ``changed_code`` and ``code``: a list of ``{"version", "commit", "dirty",
"source", "own": {name: digest}, "seeds"}``, one entry for each code that computed some of its seeds. The
``environments`` of the whole are those that its rows name.
"""

import dataclasses
from typing import Any

from posenc_jax.environments import Elsewhere, elsewhere
from posenc_jax.files.shapes import Json
from posenc_jax.results.ablation_info import CellInfo, Code
from posenc_jax.results.record import Record


@dataclasses.dataclass(frozen=True)
class Provenance:
    """Provenance of a whole ablation; cells are named ``task / label``, with seeds if only some of them are meant.

    Attributes:
      codes: a code in words -> what it computed.
      own: an own file or class -> digest -> what it computed.
      not_exact: the cells with results that would not come out the same to the bit when computed anew.
      changed: the cells whose own code had changed since they were trained, which was accepted.
      elsewhere: what was computed in another environment than the first, and how that differs.
    """

    codes: dict[str, tuple[str, ...]]
    own: dict[str, dict[str, tuple[str, ...]]]
    not_exact: tuple[str, ...]
    changed: tuple[str, ...]
    elsewhere: tuple[Elsewhere, ...]

    @property
    def differing(self) -> bool:
        """True if some results were computed by other code than the rest."""
        return len(self.codes) > 1 or any(len(digests) > 1 for digests in self.own.values())


def read_provenance(record: Record) -> Provenance:
    """The provenance in the record of an ablation; cells without results have no part in it."""
    codes: dict[str, list[str]] = {}
    own: dict[str, dict[str, list[str]]] = {}
    cells = [cell for cell in record.info["cells"] if cell["posenc"] is not None]
    for cell in cells:
        for entry in cell["code"]:
            who = _name(cell) if len(cell["code"]) == 1 else f"{_name(cell)} {_seeds(entry['seeds'])}"
            codes.setdefault(code_words(entry), []).append(who)
            for name, digest in sorted((entry.get("own") or {}).items()):
                own.setdefault(name, {}).setdefault(str(digest), []).append(who)
    return Provenance(
        codes={words: tuple(dict.fromkeys(who)) for words, who in codes.items()},
        own={name: {d: tuple(dict.fromkeys(who)) for d, who in digests.items()} for name, digests in own.items()},
        not_exact=tuple(_name(cell) for cell in cells if not cell["bit_exact"]),
        changed=tuple(_name(cell) for cell in cells if cell["changed_code"]),
        elsewhere=_elsewhere(record),
    )


def _elsewhere(record: Record) -> tuple[Elsewhere, ...]:
    who: dict[str, list[str]] = {}
    for (task, label), replicas in record.replicas.items():
        seeds: dict[str, set[int]] = {}
        for replica in replicas:
            seeds.setdefault(replica.environment, set()).add(replica.seed)
        for environment, own in seeds.items():
            name = f"{task} / {label}"
            who.setdefault(environment, []).append(name if len(seeds) == 1 else f"{name} {_seeds(sorted(own))}")
    return elsewhere(record.info["environments"], {own: tuple(names) for own, names in who.items()})


def code_words(code: Code | Json) -> str:
    """``posenc_jax 0.1.0, commit 0123abcd, with uncommitted changes, source 89abcdef``: the digest of the
    package's files where the commit does not say them all.
    """
    commit = code.get("commit")
    words = [f"posenc_jax {code.get('version') or 'of unknown version'}"]
    words += [f"commit {commit[:12]}"] if commit else ["commit unknown"]
    words += ["with uncommitted changes"] if code.get("dirty") else []
    if code.get("source") and (code.get("dirty") or not commit):
        words.append(f"source {code['source'][:12]}")
    return ", ".join(words)


def _name(cell: CellInfo) -> str:
    return f"{cell['task_label']} / {cell['label']}"


def _seeds(seeds: Any) -> str:
    return f"seed{'s' if len(seeds) != 1 else ''} {', '.join(map(str, seeds))}"
