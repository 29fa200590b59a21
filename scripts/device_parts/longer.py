"""SmolLM2-135M at one to eight times its context, under changes of its positions."""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from benchmarks.results import Table

from device_parts.part import FASTEST, Case, LeftOutError, Part, Row, Setting, compiling, price, table

VARIABLE = "SMOLLM2"
PARAMETERS, TRAINED = 134_515_008, 8192
TIMES = (1, 2, 4, 8)
CHANGES = ("none", "yarn")
ROOT = Path(__file__).resolve().parent.parent.parent


def weights() -> Path:
    """The checkpoint; LeftOutError where it is not there."""
    named = os.environ.get(VARIABLE, "")
    if not named or not Path(named).exists():
        raise LeftOutError(
            f"{VARIABLE} = {named!r} names no checkpoint: set it to SmolLM2-135M's folder, or to its GGUF file (98 MB)"
        )
    return Path(named)


def text(folder: Path, miniature: bool) -> Path:
    """The pages of this repository as one text."""
    file = folder / "pages.txt"
    pages = [
        ROOT / "README.md",
        *sorted((ROOT / "scripts" / "docs").rglob("*.md")),
        *sorted((ROOT / "experiments").rglob("*.md")),
    ]
    words = "ab" * 400 if miniature else "\n".join(page.read_text() for page in pages)
    file.write_text(words)
    return file


def measured(times: int, setting: Setting) -> Row:
    """Perplexity of one text by change, read as a whole and in the last of eight parts."""
    from fault_battery.scene import command

    source, run = weights(), setting.folder / "runs" / "smollm2"
    if not (run / "config.json").is_file():
        _said(command(["import", str(source), "-o", str(run)]))
    output = setting.folder / "runs" / f"context-{times}"
    words = ["context", str(run), "--lengths", f"{times}x", "--change", *CHANGES, "--measure", "perplexity"]
    ended = command([*words, "--text", str(text(setting.folder, setting.miniature)), "--output", str(output)])
    if ended.code in (130, 143):
        return {"stopped": "the answers so far are kept; the same command goes on"}
    _said(ended)
    entries = json.loads((output / "record.json").read_text())
    return {
        "length": entries[0]["length"],
        "loss": {own["change"]: own["loss"][0] for own in entries},
        "last": {own["change"]: own["buckets"][0][-1] for own in entries},
    }


def _said(ended) -> None:
    if ended.code:
        raise RuntimeError(ended.said.strip().splitlines()[-1])


def cases(setting: Setting) -> Mapping[str, Case]:
    """The lengths; 2 operations a parameter and token, and the pairs of 30 layers 576 wide."""
    found = {}
    each = compiling(30) / 3  # no gradients
    for times in TIMES[:1] if setting.miniature else TIMES:
        tokens = times * TRAINED
        operations = len(CHANGES) * (2 * PARAMETERS * tokens + 4 * 576 * 30 * tokens**2)
        seconds = price(operations, len(CHANGES), each, dtype="float32")
        found[f"{times} x"] = Case(functools.partial(measured, times, setting), seconds)
    return found


def _table(rows: Mapping[str, Row]) -> Table:
    columns = {f"{change}{where}": "{:.2f}" for change in CHANGES for where in ("", ", last eighth")} | {
        "seconds": "{:.0f}"
    }

    def numbers(row: Row) -> tuple[float | None, ...]:
        of = [row[kind].get(change) for change in CHANGES for kind in ("loss", "last")]
        return *(None if loss is None else math.exp(loss) for loss in of), row.get("seconds")

    return table(LONGER, "times the context", columns, rows, numbers)


LONGER = Part(
    "smollm2",
    "SmolLM2-135M beyond its context",
    f"Perplexity of this repository's pages, float32, times {TRAINED:,} tokens. It needs the checkpoint, which the "
    f"variable {VARIABLE} names",
    cases,
    _table,
    FASTEST,
)
