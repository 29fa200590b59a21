"""Inversion by length, from 512 to 1,048,576, of every encoding that has one and of every released model of the suite.

    python -m experiments.near_and_far.rows     # some twenty minutes; goes on where it stopped

writes `rows.json`: of each row the inversion at each length, beside what its frequencies predict, and the alias. A row
that has none says why. `page` makes the table, the figure and the numbers of the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from experiments.records import short
from posenc_jax.analysis.near_and_far import ERROR, alias, inversion, predicted
from posenc_jax.encodings import Dims, elements, parse, vaswani_frequencies
from posenc_jax.encodings.catalogue import CATALOGUE
from posenc_jax.golden.rope.check import models
from posenc_jax.huggingface import from_hf
from posenc_jax.show.inversion_tables import InversionRow, lengths_to, of_encoding, of_model

RECORD = Path(__file__).with_name("rows.json")
LENGTHS, FEW = lengths_to(2**20, 2), lengths_to(2**20)
DIMS = Dims(512, 4, 4, 128, 1, 512)
FEWER = 2**14
"""The longest length of rows with a table of every position, or a vector of every distance."""
CHANGES = (
    "rope",
    "rope(base=1e5)",
    "rope(base=5e5)",
    "rope(base=1e6)",
    "rope(base=1e7)",
    "rope(base=1e8)",
    "rope(scaling=linear(factor=16))",
    "rope(scaling=ntk(factor=16))",
    "rope(scaling=yarn(factor=16, original_length=8192))",
    "rope(base=5e5, scaling=llama3)",
    "rope(base=5e5, scaling=p_rope(fraction=0.75))",
    "rope(base=5e5, scaling=p_rope(fraction=0.25))",
    "rope(base=5e5, rotary_dim=0.5)",
    "rope(base=5e5, rotary_dim=0.25)",
    "rope(base=5e5, scaling=clipped(planes=3))",
    "rope(base=5e5, scaling=clipped(planes=16))",
    "rope(scaling=low_side_lobes)",
    "rope(scaling=cosine_density)",
    "moebius_rope(training_length=8192)",
    "moebius_rope(training_length=8192, fraction=1)",
    "xpos",
    "alibi|rope",
    "alibi",
    "nope",
)
"""What a change of RoPE does to it."""
ERRORS, ROUGH = {"change": ERROR, "model": ERROR}, 2 * ERROR
RATIOS = (1, 2, 8, 64)


def rows() -> Iterator[tuple[str, str, InversionRow | str, int]]:
    """Every row: its kind, its name, how it is measured, or why it is not, and the longest length."""
    for model in models():
        for row in of_model(model["name"], from_hf(model["config"])):
            yield "model", row.name, row, LENGTHS[-1]
    specs = [("change", spec) for spec in CHANGES]
    specs += [(family, row.spec) for family, own in CATALOGUE.items() for row in own]
    named: set[tuple[str, str]] = set()
    for kind, spec in dict.fromkeys(specs):
        try:
            slot = parse(spec)
            found = of_encoding(slot, DIMS)
        except ValueError as error:
            yield kind, spec, str(error), 0
            continue
        ends = kind == "relative" or not all(element.extrapolates for element in elements(slot))
        most = FEWER if ends else LENGTHS[-1]
        for row in found:
            if (kind == "change", row.name) not in named:
                named.add((kind == "change", row.name))
                yield kind, row.name if len(found) > 1 or kind != "change" else spec, row, most


def measured(kind: str, row: InversionRow, most: int) -> dict[str, Any]:
    """The numbers of a row by length, the alias of changes too; its reason where it has none."""
    lengths = [length for length in (LENGTHS if kind in ERRORS else FEW) if length <= most]
    found: dict[str, Any] = {"lengths": lengths, "inversion": [], "predicted": [], "band": [], "alias": []}
    for length in lengths:
        try:
            own = row.at(length, ERRORS.get(kind, ROUGH))
        except (ValueError, TypeError, NotImplementedError, MemoryError) as error:
            if not found["inversion"]:
                return {"reason": " ".join(str(error).split())}
            break
        frequencies, seen = row.turning(length)
        found["inversion"].append(own.value)
        if len(frequencies):
            expected = predicted(frequencies, seen)
            found["predicted"].append(expected.value)
            found["band"].append(expected.error + 2 * ERRORS.get(kind, ROUGH))
            if kind == "change":
                still = DIMS.head_dim // 2 - len(frequencies)
                found["alias"].append(alias(frequencies, length, still=still).value)
    return found


def by_ratio() -> dict[str, list[float]]:
    """Inversion at 131,072 where the far key is at least so many times farther, for three bases."""
    return {
        f"{base:g}": [inversion(vaswani_frequencies(128, base), 2**17, ratio=ratio).value for ratio in RATIOS]
        for base in (1e4, 5e5, 1e6)
    }


def main() -> None:
    """Measures what the record lacks, row by row."""
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"rows": {}}
    record["errors"] = {**ERRORS, "others": ROUGH}
    for kind, name, row, most in rows():
        key = f"{kind}: {name}"
        if key in record["rows"]:
            continue
        own = {"reason": row} if isinstance(row, str) else measured(kind, row, most)
        record["rows"][key] = short(own)
        print(key, record["rows"][key].get("reason") or record["rows"][key]["inversion"], flush=True)
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    record["by_ratio"] = short(by_ratio())
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
