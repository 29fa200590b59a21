"""Writes the README's table of encodings, from the catalogue, the registry and the committed audit.

    posenc audit --no-timing --json scripts/catalogue_audit.json
    python scripts/make_catalogue_table.py

The table stands between two comments in README.md; where they are missing it is printed.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README, AUDIT = ROOT / "README.md", ROOT / "scripts" / "catalogue_audit.json"
BEGIN = (
    "<!-- The catalogue: written by scripts/make_catalogue_table.py from the code and scripts/catalogue_audit.json -->"
)
END = "<!-- end of the catalogue -->"
COLUMNS = ("name", "spec", "family", "paper", "acts on", "extrapolates", "learned parameters", "audit")


def table(audit: dict) -> str:
    """The Markdown table."""
    from posenc_jax.drawing.markdown import grid

    align = ["r" if column == "learned parameters" else "l" for column in COLUMNS]
    return grid(COLUMNS, align, rows(audit))


def rows(audit: dict) -> list[list[str]]:
    """One row a method; the last cell from the audit ("not audited" where it has none), all others from the code."""
    from posenc_jax.drawing.markdown import code
    from posenc_jax.encodings import elements, parse
    from posenc_jax.encodings.catalogue import CATALOGUE

    verdicts = {(record["name"], record["spec"]): record["verdict"] for record in audit["encodings"]}
    made = []
    for family, methods in CATALOGUE.items():
        for method in methods:
            encodings = elements(parse(method.spec))
            made.append(
                [
                    method.name,
                    code(method.spec),
                    family,
                    _paper(method),
                    _places(encodings),
                    "yes" if all(e.extrapolates for e in encodings) else "no",
                    f"{learned(encodings):,}",
                    verdicts.get((method.name, method.spec), "not audited"),
                ]
            )
    return made


def learned(encodings: tuple) -> int:
    """Learned parameters in the audit's model."""
    import jax

    from posenc_jax.analysis.audit import model_for
    from posenc_jax.analysis.cost import num_parameters
    from posenc_jax.encodings import init_slot

    shapes = jax.eval_shape(lambda: init_slot(jax.random.key(0), encodings, model_for(encodings)))
    return num_parameters(encodings, shapes)[0]


def _places(encodings: tuple) -> str:
    from posenc_jax.cli.list import places

    return ", ".join(places(encodings)) or "-"


def _paper(method) -> str:
    address = method.link.replace("arXiv:", "https://arxiv.org/abs/")  # or a file of this project
    return f"[{method.paper}]({address})"


def replaced(readme: str, new: str) -> str | None:
    """The README with another table, None where it has no place for one."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{BEGIN}\n{new}\n{END}{after}" if begin and end else None


def main() -> int:
    """Writes the table, or prints it."""
    new = table(json.loads(AUDIT.read_text()))
    readme = replaced(README.read_text(), new)
    if readme is None:
        print(f"{BEGIN}\n{new}\n{END}")
    else:
        README.write_text(readme)
    return 0


if __name__ == "__main__":
    sys.exit(main())
