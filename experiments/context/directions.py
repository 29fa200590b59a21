"""Published orders of changes of positions at inference, written down before anything was measured here.

    python -m experiments.context.directions runs/context-small/context    # the record of posenc context, judged

writes `directions.json`, the picture and the tables of the page.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from experiments.records import short
from posenc_jax.context.table import heat_maps
from posenc_jax.drawing.markdown import code, grid, refilled
from posenc_jax.drawing.printed import render
from posenc_jax.statistics.comparison import judge, paired_comparison

RECORD = Path(__file__).with_name("directions.json")
PICTURE = Path(__file__).with_name("loss.png")
README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- directions: directions.json -->", "<!-- end of directions -->"
TRAINED = 128


class Direction(NamedTuple):
    """The loss of ``lower``, a (change, length over the trained one), is below that of ``higher``."""

    lower: tuple[str, float]
    higher: tuple[str, float]
    claim: str
    source: str


DIRECTIONS = (
    Direction(("none", 1), ("none", 2), "RoPE breaks beyond the trained length", "Chen et al. 2023, arXiv:2306.15595"),
    Direction(("none", 1), ("linear(2)", 1), "interpolation costs at short lengths, untrained", "Chen et al. 2023"),
    Direction(("ntk", 2), ("linear", 2), "without training NTK beats interpolation", "bloc97 2023"),
    Direction(("yarn", 2), ("ntk", 2), "without training YaRN beats NTK", "Peng et al. 2023, arXiv:2309.00071"),
    Direction(("yarn(2)", 1), ("linear(2)", 1), "YaRN costs less at short lengths", "Peng et al. 2023"),
    Direction(("dynamic_ntk", 2), ("none", 2), "dynamic NTK reads on", "emozilla 2023"),
    Direction(("self_extend", 2), ("none", 2), "SelfExtend reads on", "Jin et al. 2024, arXiv:2401.01325"),
    Direction(("self_extend", 4), ("none", 4), "SelfExtend reads on, four times as far", "Jin et al. 2024"),
    Direction(("rerope", 4), ("none", 4), "ReRoPE reads on", "Su 2023, kexue.fm/archives/9708"),
    Direction(("rerope", 4), ("leaky_rerope", 4), "ReRoPE is better than Leaky ReRoPE", "Su 2023"),
    Direction(("log_scaling", 4), ("none", 4), "queries scaled by log n read on", "Su 2021, kexue.fm/archives/8823"),
    Direction(("none", 1), ("nope", 1), "positions cannot be dropped untrained", "Gelberg et al. 2025 (DroPE)"),
)


def judged(
    entries: list[dict[str, Any]], trained: int, directions: tuple[Direction, ...] = DIRECTIONS
) -> list[dict[str, Any]]:
    """Each direction with its difference, lower minus higher in nats, paired by text, its interval, which is not
    corrected, and a word, by p corrected for all of them.
    """
    found = {(own["change"], own["length"]): own for own in entries}
    pairs = [
        [found[word, round(times * trained)]["loss"] for word, times in (one.lower, one.higher)] for one in directions
    ]
    compared = [(paired_comparison(lower, higher, -math.inf, math.inf), "lower") for lower, higher in pairs]
    words = {"better": "as published", "worse": "the other way"}
    return [
        {
            **one._asdict(),
            **dict(zip(("difference", "low", "high"), own.comparison[:3])),
            "word": words.get(own.word, own.word),
        }
        for one, own in zip(directions, judge(compared), strict=True)
    ]


def results(
    entries: list[dict[str, Any]], trained: int, directions: tuple[Direction, ...] = DIRECTIONS
) -> dict[str, Any]:
    """The record that is kept: losses by text and position, and the directions."""
    return short({"trained": trained, "entries": entries, "directions": judged(entries, trained, directions)})


def perplexities(entries: list[dict[str, Any]], trained: int) -> str:
    """The table of every change at every length: geometric means over texts."""
    lengths = sorted({own["length"] for own in entries})
    cells = {(own["change"], own["length"]): own for own in entries}
    lines = []
    for change in dict.fromkeys(own["change"] for own in entries):
        losses = [cells[change, length]["loss"] for length in lengths]
        last = [part[-1] for part in cells[change, lengths[-1]]["buckets"]]
        means = [math.exp(sum(own) / len(own)) for own in (*losses, last)]
        lines.append([code(change), *(f"{mean:.4g}" for mean in means)])
    head = ["change", *(f"{length:,} ({length / trained:g}x)" for length in lengths), "last eighth of the longest"]
    return grid(head, "l" + "r" * (len(head) - 1), lines)


def orders(rows: Iterable[tuple[Direction, str, str]], difference: str) -> str:
    """The table of directions, each with its difference and what became of it; ``difference`` ends that title."""
    lines = [
        [
            f"{one.claim} ({one.source})",
            f"{code(one.lower[0])} {one.lower[1]}x < {code(one.higher[0])} {one.higher[1]}x",
            *rest,
        ]
        for one, *rest in rows
    ]
    return grid(["published", "loss", f"difference in nats a token{difference}", "here"], "llrl", lines)


def page(found: dict[str, Any]) -> str:
    """Perplexity of every change at every length, and what became of the directions."""
    rows = [
        (
            Direction(*(one[name] for name in Direction._fields)),
            f"{one['difference']:+.3f} [{one['low']:.3f}, {one['high']:.3f}]",
            one["word"],
        )
        for one in found["directions"]
    ]
    corrected = (
        f"Words require a p of at most 0.05, corrected for these {len(rows)} by Holm's method; intervals are not."
    )
    table = perplexities(found["entries"], found["trained"])
    return "\n".join([table, "", orders(rows, " [95 %]"), "", corrected, ""])


def main(folder: str) -> None:
    """Judges the record of a study, keeps it and fills the page."""
    entries = json.loads((Path(folder) / "record.json").read_text())
    RECORD.write_text(json.dumps(results(entries, TRAINED)) + "\n")
    (drawn,) = heat_maps(entries)
    PICTURE.write_bytes(render(drawn, ("png",))["png"])
    README.write_text(refilled(README.read_text(), BEGIN, page(json.loads(RECORD.read_text())), END))


if __name__ == "__main__":
    main(sys.argv[1])
