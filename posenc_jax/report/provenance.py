"""Provenance of the results, in words: the code that computed them, and whether they are bit-exact."""

from __future__ import annotations

from posenc_jax.drawing.text_table import TextTable
from posenc_jax.results.provenance import Provenance


def statement(provenance: Provenance) -> str:
    """The one line where all is alike: the code, and that results are bit-exact; "" where nothing is known."""
    if alarms(provenance) or not (provenance.codes or provenance.known):
        return ""
    (words,) = provenance.codes or ("code that is not known",)
    own = "".join(f"; {name} {digest[:12]}" for name, digests in provenance.own.items() for digest in digests)
    exact = "; all results are bit-exact: computed in one environment by one code"
    if not provenance.placed:
        exact = "; none was resumed in another environment or by other code. In which each cell ran is not recorded"
    return f"Computed by {words}{own}{exact if provenance.known else ''}."


def alarms(provenance: Provenance) -> list[str]:
    """One line for each way in which results were not computed alike."""
    lines = []
    if provenance.differing:
        lines.append("Not all results were computed by the same code: see what computed which.")
    if provenance.not_exact:
        lines.append(
            "Not bit-exact, since it began or went on in another environment, or by other code, than the rest: "
            f"{'; '.join(provenance.not_exact)}."
        )
    lines += map(str, provenance.elsewhere)
    if provenance.changed:
        lines.append(
            f"Its own code has changed since it was trained, which was accepted: {'; '.join(provenance.changed)}."
        )
    return lines


def code_table(provenance: Provenance) -> TextTable:
    """Table of codes and the cells that each computed; empty if one code computed all."""
    entries = [(words, "; ".join(who)) for words, who in provenance.codes.items() if len(provenance.codes) > 1]
    for name, digests in provenance.own.items():
        entries += [(f"{name} {digest[:12]}", "; ".join(who)) for digest, who in digests.items() if len(digests) > 1]
    return TextTable("What computed which", ("code", "cells"), "ll", tuple(entries))
