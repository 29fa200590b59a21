"""Writes posenc_jax/golden/encodings-v1.json: the golden values of every row of the catalogue, in float64.

    python scripts/make_golden.py

Values of rows that are there already must not change within a version of the format: differences are printed.
"""

import json
import sys
from pathlib import Path

import numpy as np

PATH = Path(__file__).parent.parent / "posenc_jax" / "golden" / "encodings-v1.json"


def main() -> int:
    """Writes the file; 1 if a value that was there has changed."""
    from posenc_jax.analysis.golden import document

    made = document()
    before = json.loads(PATH.read_text()) if PATH.exists() else {"rows": []}
    changed = _changes(before["rows"], made["rows"])
    head = {name: value for name, value in made.items() if name != "rows"}
    rows = ",\n".join(
        json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for row in made["rows"]
    )
    # One row a line, so that a difference of versions names the row.
    text = json.dumps(head, indent=1, ensure_ascii=False)
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(f'{text.removesuffix(chr(10) + "}")},\n "rows": [\n{rows}\n ]\n}}\n')
    print(f"{PATH.name}: {len(made['rows'])} rows, {PATH.stat().st_size / 1e6:.2f} MB")
    print("".join(f"changed: {line}\n" for line in changed), end="")
    return 1 if changed else 0


def _changes(before: list, after: list) -> list[str]:
    old = {(row["name"], row["spec"]): row["outputs"] for row in before}
    found = []
    for row in after:
        for name, value in old.get((row["name"], row["spec"]), {}).items():
            new = row["outputs"].get(name)
            if new is None or not np.allclose(
                np.array(value, float), np.array(new, float), rtol=0, atol=1e-9, equal_nan=True
            ):
                found.append(f"{row['name']}: {name}")
    return found


if __name__ == "__main__":
    sys.exit(main())
