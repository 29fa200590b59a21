"""The page of what was compiled."""

from __future__ import annotations

from typing import Any

_HEAD = """# Compiled for accelerators that are not here

XLA compiles for described devices: what compiles, how much memory it takes of one device and which kernels it calls are
known without owning one; times are not. Nothing is tuned without the device, so the choice of matrix kernels is not
final. The formula is what `posenc plan` says of training; FLOP are those of the matrix products of a step or of an
evaluation, of all devices. Written by `scripts/compile_check`, which fails where attention that is said to be fused
calls no such kernel. What a TPU keeps in its memory on the chip is in no column. Cases that are not
listed have not been compiled yet (the same command goes on with them); one that fails says why in the last column.

d_model 128, one layer of two heads, 8 sequences of 128 tokens, unless the name says otherwise.
"""


_COLUMNS = (
    *("case", "program", "layout", "attention", "compiled in", "arguments", "temporaries", "peak", "formula", "FLOP"),
    "calls",
)


def page(rows: list[dict[str, Any]]) -> str:
    """Markdown: a table for each target."""
    parts = [_HEAD]
    for target in dict.fromkeys(row["target"] for row in rows):
        own = [row for row in rows if row["target"] == target]
        versions = sorted({", ".join(f"{k} {v}" for k, v in row["versions"].items()) for row in own})
        parts.append(f"## {target}\n\n{'; '.join(versions)}.\n")
        lines = [f"| {' | '.join(_COLUMNS)} |"]
        lines.append("|---|---|---|---|--:|--:|--:|--:|--:|--:|---|")
        lines += ["| " + " | ".join(entry.replace("|", "\\|") for entry in _entries(row)) + " |" for row in own]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _entries(row: dict[str, Any]) -> list[str]:
    if "seconds" not in row:
        return [row["case"], row["program"], *["-"] * (len(_COLUMNS) - 3), row["problem"]]
    data, model = row["split"]
    layout = f"{row['mode']}, {row['rows']} x {row['on_each']}" + (
        f", data {data}, model {model}" if data * model > 1 else ""
    )
    calls = (
        ", ".join(f"{name} x {count}" if count > 1 else name for name, count in row["custom_calls"].items()) or "none"
    )
    return [
        row["case"],
        row["program"],
        layout,
        ", ".join(row["paths"]) or "-",
        f"{row['seconds']:.0f} s",
        *(_megabytes(row[name]) for name in ("arguments", "temporaries", "peak", "formula")),
        f"{row['operations'] / 1e9:.2f} G" if row["operations"] else "-",
        row["problem"] or f"`{calls}`",
    ]


def _megabytes(count: int | None) -> str:
    return "-" if count is None else f"{count / 1e6:.2f} MB"
