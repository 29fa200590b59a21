"""Measures what the checker of `posenc_jax/golden/rope` finds: planted mistakes, and engines of others.

    python scripts/positions_suite.py [--answers NAME FILE]

The record is scripts/docs/positions.json, and the page that quotes it is written. A FILE has an engine's answers:
`PYTHON scripts/class_positions.py --rows posenc_jax/golden/rope/positions-v1.json` prints those of transformers, and
`PYTHON scripts/x_transformers_positions.py` those of x-transformers.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import position_mutants
from golden_suite import POSITIONS

from posenc_jax.drawing.markdown import grid, refilled
from posenc_jax.golden.rope import check

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "scripts" / "docs" / "positions.json"
PAGE = ROOT / "scripts" / "docs" / "guides" / "positions-of-models.md"
Record = dict[str, Any]


def main() -> int:
    """Measures and writes."""
    parser = argparse.ArgumentParser(prog="scripts/positions_suite.py", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--answers", nargs=2, metavar=("NAME", "FILE"), help="an engine, and what it answers")
    given = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"engines": {}}
    if given.answers:
        name, file = given.answers
        record["engines"][name] = measured(json.loads(Path(file).read_text()))
    else:
        record["mutants"] = [seen(mutant) for mutant in position_mutants.MUTANTS]
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    for path, page in pages().items():
        path.write_text(page)
    return 0


def seen(mutant: position_mutants.Mutant) -> Record:
    """In how many rows a mistake changes a value, in how many it is found, and the first line that says so; SystemExit
    where it changes none, or is found in a row without a change.
    """
    lines = position_mutants.found(mutant)
    names = {line.partition(", layer ")[0] for line in lines}
    changed = {row["name"] for row in check.rows() if position_mutants.changes(mutant, row)}
    if not changed or names - changed:
        raise SystemExit(f"{mutant.name}: changes {len(changed)} rows, and is found in {sorted(names - changed)} too")
    counts = {"changed": len(changed), "rows": len(names)}
    return {"name": mutant.name, "threads": mutant.threads, **counts, "first": lines[0] if lines else ""}


def measured(answers: Record) -> Record:
    """How many rows of an engine agree, how many do but for angles far out, and how far off these are."""
    rows = {row["name"]: row for row in check.rows() if row["name"] in answers}
    engine = check.from_answers(answers)
    strict = {line.partition(", layer ")[0] for line in check.problems(engine, list(rows))}
    lines = check.problems(engine, list(rows), angles=3.0)
    wrong = {line.partition(", layer ")[0] for line in lines}
    off = np.zeros(len(POSITIONS))
    for name in rows.keys() - wrong:
        for group in rows[name]["groups"]:
            for point in group["points"]:
                own = engine(rows[name], group["layers"][0], point["length"])
                for part in ("cos", "sin"):
                    if own.get(part) and own[part][0]:
                        off = np.maximum(off, np.abs(np.subtract(own[part], point[part])).max(axis=1))
    return {
        "rows": len(rows),
        "agree": len(rows) - len(strict),
        "but for angles": len(rows) - len(wrong),
        "off": [float(f"{value:.2g}") for value in off],
        "differs": lines[:20],
    }


def pages() -> dict[Path, str]:
    """The page with the tables, as it should be."""
    record, text = json.loads(RECORD.read_text()), PAGE.read_text()
    rows = check.rows()
    classes = sum(row["source"].startswith("transformers ") for row in rows)
    counted = (
        f"{len(rows):,} rows of {len({row['type'] for row in rows})} types: {classes:,} are configs of classes of "
        f"transformers, and {len(rows) - classes} are of released models."
    )
    mutants = [
        [one["name"], one["threads"], f"{one['changed']:,}", f"{one['rows']:,}", f"`{one['first']}`"]
        for one in record["mutants"]
    ]
    found = sum(one["rows"] > 0 for one in record["mutants"])
    said = f"{found} of {len(mutants)} are found."
    columns = ["mistake", "reported in", "changes rows", "found in", "the first line"]
    tables = {
        "rows": counted,
        "mutants": f"{grid(columns, 'llrrl', mutants)}\n\n{said}",
        "engines": grid(
            ["engine", "rows answered", "agree", "but for far angles", *(f"at {p:,}" for p in POSITIONS[2:])],
            "lrrrrrr",
            [
                [name, *(f"{own[key]:,}" for key in ("rows", "agree", "but for angles")), *map(str, own["off"][2:])]
                for name, own in sorted(record["engines"].items())
            ],
        ),
    }
    for name, new in tables.items():
        text = refilled(text, f"<!-- {name}: written by scripts/positions_suite.py -->", new, f"<!-- end of {name} -->")
    return {PAGE: text}


if __name__ == "__main__":
    raise SystemExit(main())
