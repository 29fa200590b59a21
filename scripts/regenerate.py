"""Writes what is kept in files of every row of the catalogue; `scripts/regenerate` runs it.

- posenc_jax/golden/encodings-v1.json: golden values, in float64. A value that is there already is never rewritten
  unasked: a changed golden value is a changed encoding. ``--changed NAME`` says that it is meant.
- posenc_jax/golden/sequences/sequences-v1.json, posenc_jax/golden/rope/rope-v1.json and positions-v1.json beside it:
  golden sequences, the rotary frequencies of released models, and what follows from configs, in the same way.
- scripts/catalogue_audit.json: the audit; measured anew where it has no record, where the record says other hooks,
  facts or parameters than the code, and for ``--changed``.
- the verdicts in experiments/verdicts, judged by the rule as it is; posenc_jax/verdict/evidence.json: what they say of
  rows of the catalogue; and the
  table of all of them in its README; the cards that have a page there, from their records.
- which encoding when, in scripts/docs/guides, from all verdicts and published tables together, and its pictures.
- the tables of scripts/docs/guides/catalogue.md: encodings, from the code, the audit and the verdicts, and comparisons
  with public code, from scripts/docs/comparisons.json;
- counts in the README and on pages of the site (scripts/counts.py);
- the list of lessons in posenc_jax/show/lessons/README.md, from their pages;
- the tables of imported models in scripts/docs/guides/weights-and-surgery.md, from scripts/docs/parity.json;
- the counts of types in scripts/docs/guides/what-a-config-declares.md, from scripts/docs/declared.json, and
  the tables of positions-of-models.md beside it, from scripts/docs/positions.json;
- the notebooks in scripts/notebooks, from pages of the site.

All or nothing is written, and only what differs. An encoding that lacks a source, a citation, a formula or its facts is
refused first.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import counts
import declared_parity
import golden_rope
import golden_sequences
import golden_suite
import huggingface_parity
import numpy as np
import positions_suite
import public_code
from documenting import together, verdicts
from documenting.encodings import FAMILIES
from documenting.pages import notebooks_of_repository
from documenting.rows import lacking

from posenc_jax.drawing.markdown import refilled
from posenc_jax.golden.rope import check as rope
from posenc_jax.golden.sequences import check as sequences
from posenc_jax.refusals import did_you_mean
from posenc_jax.show.lessons import LESSONS
from posenc_jax.show.lessons.pages import index
from posenc_jax.verdict.evidence import Evidence

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "posenc_jax" / "golden" / "encodings-v1.json"
AUDIT = ROOT / "scripts" / "catalogue_audit.json"
PAGE = ROOT / "scripts" / "docs" / "guides" / "catalogue.md"
INDEX = ROOT / "posenc_jax" / "show" / "lessons" / "README.md"
BEGIN = "<!-- The catalogue: written by scripts/regenerate from the code and scripts/catalogue_audit.json -->"
END = "<!-- end of the catalogue -->"
COLUMNS = (
    *("name", "spec", "paper", "acts on", "extrapolates", "learned parameters", "attention", "audit"),
    *("verdict", "use"),
)

Record = dict[str, Any]  # JSON


def main(arguments: list[str] | None = None) -> int:
    """Writes what differs; 1 if something is refused, and then nothing is written."""
    parser = argparse.ArgumentParser(prog="scripts/regenerate", description=__doc__.partition("\n\n")[0])
    parser.add_argument(
        "--changed",
        nargs="+",
        default=[],
        metavar="NAME",
        help="rows of the catalogue, golden sequences or released models, whose values are meant to change, or to go",
    )
    changed = parser.parse_args(arguments).changed
    golden, audit = json.loads(GOLDEN.read_text()), json.loads(AUDIT.read_text())
    try:
        check_names(changed, golden["rows"])
        if problems := lacking():
            raise ValueError("\n".join(problems))
        texts = {GOLDEN: golden_text(new_golden(golden, changed))}
        texts |= {sequences.FILE: golden_sequences.new_text(sequences.FILE.read_text(), changed)}
        texts |= {rope.FILE: golden_rope.new_text(rope.FILE.read_text(), changed)}
        texts |= {rope.ROWS: golden_suite.new_text(rope.ROWS.read_text(), changed)}
        audit = new_audit(audit, changed)
        texts |= {AUDIT: json.dumps(audit, indent=1, ensure_ascii=False, allow_nan=False) + "\n"}
        texts |= verdicts.texts()
        all_cards = together.known()
        texts |= together.texts(all_cards)
        texts |= counts.pages()
        texts |= {PAGE: refilled(public_code.page(texts[PAGE]), BEGIN, table(audit, verdicts.evidence()), END)}
        texts |= {INDEX: index(texts[INDEX], LESSONS)} | huggingface_parity.pages()
        texts |= declared_parity.pages() | positions_suite.pages()
        texts |= notebooks_of_repository()
    except ValueError as error:
        print(f"scripts/regenerate: {error}\nnothing was written", file=sys.stderr)
        return 1
    for path, text in texts.items():
        same = path.exists() and text == path.read_text()
        if not same:
            beside = path.with_name(path.name + ".new")
            beside.write_text(text)
            beside.replace(path)
        print(f"{path.relative_to(ROOT)}: {'as it was' if same else 'written'}")
    for path, draw in together.pictures(all_cards).items():
        path.write_bytes(draw())
        print(f"{path.relative_to(ROOT)}: drawn")
    return 0


def check_names(changed: list[str], kept: list[Record]) -> None:
    """Refuses a name that is in neither the catalogue nor a file of golden values."""
    from posenc_jax.analysis.audit import rows

    known = [method.name for _, method in rows()] + [row["name"] for row in (*kept, *rope.models(), *rope.rows())]
    known += sequences.scenarios()
    for name in changed:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(
                f"--changed {name!r} is no row of the catalogue, no golden sequence and no released model"
                f"{hint and f': {hint}'} (`posenc list` shows all rows)"
            )


# Golden values.


def new_golden(before: Record, changed: list[str]) -> Record:
    """The whole file: what is there already where it still holds. ValueError where it does not and is not `changed`."""
    from golden import document

    made = document()
    rows, problems = merged(before["rows"], made["rows"], changed)
    if problems:
        raise ValueError(
            "\n".join([*problems, "a changed golden value is a changed encoding: if it is meant, --changed NAME"])
        )
    return made | {"rows": rows}


def merged(before: list[Record], made: list[Record], changed: list[str]) -> tuple[list[Record], list[str]]:
    """The rows of ``made``, with the values of ``before`` where the two are equal to 1e-9, so that another machine's
    rounding changes no file; and a line for each row that differs, or is gone, and is not in ``changed``.
    """
    kept = {(row["name"], row["spec"]): row for row in before}
    rows, problems = [], []
    for row in made:
        old = kept.pop((row["name"], row["spec"]), None)
        differing = [] if old is None else differences(old, row)
        if old is None or row["name"] in changed:
            rows.append(row)
        else:
            rows.append(row | {name: old[name] for name in ("parameters", "positions_seen", "outputs")})
            problems += [f"{row['name']}: {', '.join(differing)} changed"] * bool(differing)
    problems += [f"{name}: {spec} is gone" for name, spec in kept if name not in changed]
    return rows, problems


def differences(old: Record, new: Record) -> list[str]:
    """The names of what differs by more than rounding, between two rows of one method."""
    before, after = (
        row["outputs"] | {f"positions of element {i}": a for i, a in enumerate(row["positions_seen"] or ())}
        for row in (old, new)
    )
    found = ["parameters"] * (old["parameters"] != new["parameters"])
    return found + [name for name in dict.fromkeys([*before, *after]) if not _equal(before.get(name), after.get(name))]


def _equal(old: list | None, new: list | None) -> bool:
    """Nested lists of numbers; None in them, where a causal mask hides a key, is a NaN."""
    a, b = np.array(old, np.float64), np.array(new, np.float64)
    scale = max(1.0, float(np.nan_to_num(np.abs(a)).max(initial=0)))
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-9 * scale, equal_nan=True)


def golden_text(document: Record) -> str:
    """The text of the file: a row a line, so that a difference of versions names the row."""
    head = {name: value for name, value in document.items() if name != "rows"}
    rows = ",\n".join(
        json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for row in document["rows"]
    )
    text = json.dumps(head, indent=1, ensure_ascii=False)
    return f'{text.removesuffix(chr(10) + "}")},\n "rows": [\n{rows}\n ]\n}}\n'


# The audit.


def new_audit(before: Record, changed: list[str]) -> Record:
    """The whole file; ValueError for an encoding that does not keep the contract."""
    from posenc_jax.analysis.audit import rows, settings

    kept = {(record["name"], record["spec"]): record for record in before["encodings"]}
    if before["settings"] != settings():
        kept = {}
    methods = [method for _, method in rows()]
    stale = [m.name for m in methods if m.name in changed or is_stale(kept.get((m.name, m.spec)), m.spec)]
    kept |= {(record["name"], record["spec"]): record for record in measured(stale)}
    records = [kept[m.name, m.spec] | dataclasses.asdict(m) for m in methods]
    for record in records:
        if record["verdict"].startswith("fails") or record["problems"]:
            reasons = [record["verdict"], *record["problems"]]
            raise ValueError(f"{record['name']}: {'; '.join(reasons)}: see check_contract, and mend the encoding first")
    return {"settings": settings(), "encodings": records}


def measured(names: list[str]) -> list[Record]:
    """Records of ``posenc audit`` for these rows of the catalogue, in a process of its own, which sets up JAX."""
    if not names:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.json"
        command = [sys.executable, "-m", "posenc_jax", "audit", *names, "--no-timing", "--json", os.fspath(path)]
        subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)  # 1 for a broken contract
        if not path.exists():
            raise ValueError(f"`posenc audit` of {', '.join(names)} wrote nothing: see what it says above")
        return json.loads(path.read_text())["encodings"]


def is_stale(record: Record | None, text: str) -> bool:
    """True if a record is missing, or differs from the code, as far as that is known without measuring."""
    from posenc_jax.encodings import elements, parse

    if record is None:
        return True
    encodings = elements(parse(text))
    return not (
        set(record["acts_on"]) == frozenset().union(*(e.acts_on for e in encodings))
        and record["extrapolates"] == all(e.extrapolates for e in encodings)
        and record["shift_invariant"] == all(e.shift_invariant for e in encodings)
        and record["parameters"]["learned"] == learned(text)
    )


def learned(text: str) -> int:
    """Learned parameters in the audit's model, of a pattern those of the first layer."""
    import jax

    from posenc_jax.analysis.audit import model_for
    from posenc_jax.analysis.cost import num_parameters
    from posenc_jax.encodings import for_layer, init_slot, parse

    encodings = for_layer(parse(text), 0)
    shapes = jax.eval_shape(lambda: init_slot(jax.random.key(0), encodings, model_for(encodings)))
    return num_parameters(encodings, shapes)[0]


# The table of encodings.


def table(audit: Record, verdicts: tuple[Evidence, ...]) -> str:
    """A Markdown table a family: a row a method, its last cells from the audit and the verdicts, the others from the
    code.
    """
    from posenc_jax.analysis.audit import rows
    from posenc_jax.analysis.described import hook_words, ways
    from posenc_jax.drawing.markdown import code, grid
    from posenc_jax.encodings import elements, parse

    audited = {(record["name"], record["spec"]): record["verdict"] for record in audit["encodings"]}
    cells: dict[str, list[list[str]]] = {family: [] for family in FAMILIES}
    for family, method in rows():
        encodings = elements(parse(method.spec))
        address = method.link.replace("arXiv:", "https://arxiv.org/abs/")
        if not address.startswith("https://"):  # a file of this project, seen from the page
            address = f"../../../{address}"
        cells[family].append(
            [
                method.name,
                code(method.spec),
                f"[{method.paper}]({address})",
                ", ".join(hook_words(encodings)) or "-",
                "yes" if all(e.extrapolates for e in encodings) else "no",
                f"{learned(method.spec):,}",
                ways(parse(method.spec)),
                audited[method.name, method.spec],
                "; ".join(
                    f"[{own}](../../../experiments/verdicts/README.md)" for own in verdicts if own.label == method.name
                )
                or "-",
                method.use,
            ]
        )
    align = ["r" if column == "learned parameters" else "l" for column in COLUMNS]
    return "\n\n".join(
        f"### {title}\n\n{about} `posenc list --family {family}` prints these {len(own)}.\n\n"
        f"{grid(COLUMNS, align, own)}"
        for (family, (title, about)), own in zip(FAMILIES.items(), cells.values(), strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
