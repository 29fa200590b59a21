"""The audit as tables, one a family with the columns that say something about it: in Markdown, and for a terminal."""

import re
from collections.abc import Callable
from typing import Any

from posenc_jax.analysis.outcome import way_out
from posenc_jax.drawing.markdown import code, escaped, grid
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import TextTable, filled, narrowed, text
from posenc_jax.files.shapes import Json

_LEAST_IMPORTANT = (
    "shift, bfloat16",
    "norm drift",
    "bfloat16",
    "memory",
    "decode, packing, padding",
    "leak",
    "parameters",
    "smallest distance",
    "shift, float32",
    "time",
    "nearest alias",
)
SHOWN_SHIFTS = ("1000", "10000", "1000000")


def audit_markdown(audit: Json) -> str:
    """The whole audit, ``{"settings": ..., "encodings": [...]}``, as a Markdown document with a legend."""
    parts = ["# Audit", *map(_markdown, audit_tables(audit))]
    for title, lines in _sections(audit, [f"{column}: {about}" for column, about in _legend().items()]):
        parts += [f"## {title}\n\n" + "\n".join(f"- {escaped(line)}" for line in lines)] if lines else []
    return "\n\n".join(parts) + "\n"


def audit_text(audit: Json, width: int) -> str:
    """The whole audit as plain text no wider than ``width``, with the legend of the columns that fit."""
    tables = [narrowed(table, width, _LEAST_IMPORTANT, "the Markdown") for table in audit_tables(audit)]
    there = {column for table in tables for column in table.columns} | {NONE}
    parts = [text(table, width) for table in tables]
    for title, lines in _sections(audit, [f"{c}: {about}" for c, about in _legend().items() if c in there]):
        parts += ["\n".join([title, "", *filled(lines, width)])] if lines else []
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _sections(audit: Json, legend: list[str]) -> list[tuple[str, list[str]]]:
    return [
        ("Failures, and what to do", _failures(audit)),
        ("What could not be measured", [f"{r['name']}: {line}" for r in audit["encodings"] for line in r["problems"]]),
        ("Legend", legend),
        ("Measured in", _measured_in(audit)),
    ]


def audit_answer(audit: Json) -> str:
    """A line for each encoding, whether it keeps the contract, then what failed and what to do."""
    lines = [f"{record['name']} {_answer(record)}" for record in audit["encodings"]]
    for title, own in _sections(audit, [])[:2]:
        lines += ["", title, "", *own] if own else []
    return "\n".join(lines) + "\n"


def _answer(record: Json) -> str:
    kept = re.fullmatch(r"kept \(([0-9]+)/[0-9]+\)(.*)", record["verdict"])
    if kept is None:
        return f"and its contract: {record['verdict']}"
    of = f"{kept[1]} of {kept[1]} tests of caches, masks and more that apply, of {len(record['clauses'])} in all"
    return f"passes {of}{kept[2]}"


def audit_tables(audit: Json) -> list[TextTable]:
    """One a family, without the columns that are empty for all its encodings."""
    families = list(dict.fromkeys(record["family"] for record in audit["encodings"]))
    return [_table(family, [r for r in audit["encodings"] if r["family"] == family]) for family in families]


def _table(family: str, records: list[Json]) -> TextTable:
    found = {column: [show(record) for record in records] for column, (_, show) in columns().items()}
    kept = {c: entries for c, entries in found.items() if c in _WORDS or set(entries) != {NONE}}
    align = "".join("l" if c in _WORDS else "r" for c in kept)
    return TextTable(family.capitalize(), tuple(kept), align, tuple(zip(*kept.values())))


def _markdown(table: TextTable) -> str:
    lines = [
        [code(entry) if column == "spec" else escaped(entry) for column, entry in zip(table.columns, line)]
        for line in table.entries
    ]
    return f"## {table.title}\n\n{grid(table.columns, table.align, lines)}"


def _failures(audit: Json) -> list[str]:
    return [
        f"{record['name']}: {name}: failed {clause['detail']}: {way_out(name)}"
        for record in audit["encodings"]
        for name, clause in record["clauses"].items()
        if clause["status"] == "failed"
    ]


def _legend() -> dict[str, str]:
    found = {column: about for column, (about, _) in columns().items() if about}
    return found | {NONE: "does not apply to the encoding (see each column)."}


def _measured_in(audit: Json) -> list[str]:
    settings = audit["settings"]
    small = [r["name"] for r in audit["encodings"] if r["head_dim"] != settings["head_dim"]]
    lines = [f"{name}: {settings[name]}" for name in ("contract", "model", "attention")]
    return lines + ([f"in the contract's dimensions, for which they are made: {', '.join(small)}"] if small else [])


_WORDS = ("encoding", "spec", "contract", "beyond max_len")


def columns() -> dict[str, tuple[str, Callable[[Json], str]]]:
    """The meaning and the entry of each column, by name."""
    return {
        "encoding": ("", lambda r: r["name"] if r["name"] != r["spec"] else NONE),
        "spec": ("", lambda r: r["spec"]),
        "contract": (
            "the clauses that apply to the encoding, all kept, or those that failed; what a method by its nature "
            "cannot keep is declared and must fail. For a pattern, all layers count; every other number is of the "
            "first that has an encoding.",
            lambda r: r["verdict"],
        ),
        "shift, float32": (
            "largest change of a logit, up to a constant per query, when all positions move by "
            + ", ".join(map(_power, SHOWN_SHIFTS))
            + "; "
            "absolute encodings are not meant to be invariant; - where positions are random.",
            lambda r: _shift(r, "float32"),
        ),
        "shift, bfloat16": ("the same with activations in bfloat16.", lambda r: _shift(r, "bfloat16")),
        "smallest distance": (
            "between the vectors of any two of 512 successive positions, relative to their mean norm, in float32, in "
            "bfloat16 and in float32 from position 1e6 on; 0: two positions share a vector. - where no vector belongs "
            "to a position: biases, random positions, positions that depend on tokens.",
            lambda r: _windows(r["distance"]),
        ),
        "nearest alias": (
            "the offset outside the main lobe at which vectors are most similar, and their cosine similarity.",
            _alias,
        ),
        "norm drift": (
            "largest deviation of a vector's norm from its mean over the positions, relative to it, in the same three "
            "settings; a rotation keeps norms.",
            lambda r: _windows(r["norm_drift"]),
        ),
        "leak": ("largest change of a row of outputs when later tokens change, causal, float64.", _error("causality")),
        "decode, packing, padding": (
            "largest difference of outputs between chunks with a cache and one pass, packed and single sequences, "
            "padded and not, float64.",
            lambda r: _joined([_error(name)(r) for name in ("cached_decoding", "packing", "padding")]),
        ),
        "bfloat16": ("largest difference of outputs from float64, at positions up to 1023.", _error("precision")),
        "beyond max_len": (
            "error: raises a ValueError; nan: returns NaN or infinity; clamps: positions or distances far out are all "
            "alike (a table's last row, a last bucket); rescales: results at earlier positions depend on the length; "
            "extrapolates: none of these; drawn: positions are random. - where positions "
            "within a sequence have no effect.",
            lambda r: r["beyond"] or NONE,
        ),
        "parameters": ("learned parameters, + frozen ones, of the whole model.", _parameters),
        "memory": (
            "temporary memory of one compiled attention call beyond that of attention alone.",
            lambda r: NONE if r["temporaries"] is None else f"{r['temporaries'] / 1024:+.0f} KiB",
        ),
        "time": (
            "of one attention call, relative to attention alone: median over alternating calls.",
            lambda r: f"{r['timing']['ratio']:.2f}x" if "timing" in r else NONE,
        ),
    }


def _shift(record: Json, dtype: str) -> str:
    if record["shift"] is None:
        return NONE
    return _joined([_number(record["shift"][dtype][shift]) for shift in SHOWN_SHIFTS])


def _windows(values: dict[str, Any] | None) -> str:
    return NONE if values is None else _joined([_number(value) for value in values.values()])


def _alias(record: Json) -> str:
    alias = record["alias"]
    return NONE if alias is None else f"{alias['offset']} ({_cosine(alias['cosine'])})"


def _cosine(value: float) -> str:
    """Two digits after the point, and more where they would say that two positions are one."""
    digits = next((n for n in (2, 3, 4, 5, 6) if value == 1 or float(f"{value:.{n}f}") < 1), 6)
    return f"{value:.{digits}f}"


def _error(name: str) -> Callable[[Json], str]:
    return lambda record: NONE if record[name] is None else _number(record[name])


def _parameters(record: Json) -> str:
    learned, frozen = record["parameters"]["learned"], record["parameters"]["frozen"]
    return f"{learned:,}" + (f" + {frozen:,}" if frozen else "")


def _joined(numbers: list[str]) -> str:
    return numbers[0] if len(set(numbers)) == 1 else ", ".join(numbers)


def _number(value: float | str) -> str:
    """Two digits: 0.29, 4.8e-07; nan and inf as words."""
    if isinstance(value, str):
        return value
    return re.sub(r"e([+-])0", r"e\1", f"{value:.2g}")


def _power(text: str) -> str:
    return f"1e{len(text) - 1}"
