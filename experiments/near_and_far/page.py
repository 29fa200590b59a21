"""The tables, the figure and the numbers of the page on near and far keys, from its records.

python -m experiments.near_and_far.page
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from experiments.near_and_far import heads, moebius, rows, task
from posenc_jax.analysis.near_and_far import CONFUSED
from posenc_jax.drawing.markdown import code, grid, refilled
from posenc_jax.drawing.plots import Axis, HeatMap
from posenc_jax.drawing.printed import render
from posenc_jax.golden.rope.check import models
from posenc_jax.huggingface import from_hf
from posenc_jax.show.inversion_tables import confused_from

README = Path(__file__).with_name("README.md")
PICTURE = Path(__file__).with_name("inversion.png")
SHOWN = (2**9, 2**13, 2**17, 2**20)
SHOWN_DISTANCES = (128, 512, 2048, 4096)
ALL = (*task.DISTANCES, 8192, 16384)
PARTS = (range(8192), range(8192, 12288), range(12288, 16384), range(16384, 32768))


def read(path: Path) -> dict[str, Any]:
    """A record."""
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def served(record: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The rows of a kind that have numbers, by name; of "catalogue" all that are no changes and no models."""
    found = {}
    for key, row in record["rows"].items():
        own, name = key.split(": ", 1)
        if "inversion" in row and (own == kind or (kind == "catalogue" and own not in ("change", "model"))):
            found[name] = row
    return found


def since(row: dict[str, Any]) -> str:
    """From which length a row confuses near with far, and up to where, if it recovers."""
    shares, lengths = row["inversion"], row["lengths"][: len(row["inversion"])]
    start = confused_from(lengths, shares)
    if start is None:
        return "-"
    at = lengths.index(start)
    good = next((n for n, own in zip(lengths[at:], shares[at:]) if own <= CONFUSED - 0.02), None)
    return f"{start:,}" if good is None else f"{start:,}, not at {good:,}"


def of_contexts(record: dict[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Names of the released models whose layers that see all keys confuse near with far within the context that they
    declare, beyond it only, and at no length.
    """
    found: tuple[list[str], list[str], list[str]] = ([], [], [])
    for model in models():
        own = [
            row
            for name, row in served(record, "model").items()
            if name.split(",")[0] == model["name"] and "window" not in name and max(row["inversion"]) != 0.5
        ] or [row for name, row in served(record, "model").items() if name.split(",")[0] == model["name"]]
        starts = [confused_from(row["lengths"], row["inversion"]) for row in own]
        start = min((start for start in starts if start is not None), default=None)
        context = from_hf(model["config"]).max_length or 0
        found[2 if start is None else 0 if start <= context else 1].append(model["name"])
    return found


def inside(row: dict[str, Any]) -> str:
    """How many of the measured points lie in the band of the prediction."""
    if not row["predicted"]:
        return ""
    differences = np.abs(np.array(row["inversion"]) - row["predicted"][: len(row["inversion"])])
    return f"{int((differences <= np.array(row['band'])[: len(differences)]).sum())} of {len(differences)}"


def table(record: dict[str, Any], kind: str) -> str:
    """Inversion at four lengths, from which one on it is above 0.4, and the points in the band."""
    lines = []
    for name, row in served(record, kind).items():
        by_length = dict(zip(row["lengths"], row["inversion"]))
        cells = [f"{by_length[n]:.3f}" if n in by_length else "" for n in SHOWN]
        lines.append([code(name) if kind != "model" else name, *cells, since(row), inside(row)])
    titles = ["", *(f"{n:,}" for n in SHOWN), "above 0.4 from (not at: 0.38 or less)", "in the band"]
    return grid(titles, "lrrrrrr", lines)


def aliases(record: dict[str, Any]) -> str:
    """The alias of changes at four lengths."""
    lines = []
    for name, row in served(record, "change").items():
        if row["alias"]:
            by_length = dict(zip(row["lengths"], row["alias"]))
            lines.append([code(name), *(f"{by_length[n]:.3f}" for n in SHOWN)])
    return grid(["", *(f"{n:,}" for n in SHOWN)], "lrrrr", lines)


def of_heads(found: dict[str, Any]) -> str:
    """Inversion and alias of kinds of heads by length, beside the predictions, and the directions."""
    most = heads.positional()
    every = np.arange(np.array(found["inversion"])[0, ..., 0].size)
    lines = []
    for name in heads.ERRORS:
        shares = np.array(found[name]).mean(0).reshape(len(every), -1)
        for kind, group in (("positional", most), ("other", np.setdiff1d(every, most))):
            lines.append([f"{name}, {kind} heads", *(f"{share:.3f}" for share in shares[group].mean(0))])
        expected = [own[0] for own in found["predicted"]] if name == "inversion" else found["alias_of_normal"]
        lines.append([f"{name}, equal normal contents", *(f"{share:.3f}" for share in expected)])
    titles = ["", *(f"{n:,}" for n in found["lengths"])]
    return "\n".join([grid(titles, "l" + "r" * len(found["lengths"]), lines), "", judged(heads.judged(found))])


def judged(rows_of: list[dict[str, Any]]) -> str:
    """What became of directions; the intervals of several hold all together."""
    together = " together" * (len(rows_of) > 1)
    lines = [
        [
            one["claim"],
            one["source"],
            f"{one['mean']:+.3f} [{one['low']:.3f}, {one['high']:.3f}]",
            f"{one['seen']:.3f}",
            one["word"],
        ]
        for one in rows_of
    ]
    return grid(["expected", "by", f"number [95 %{together}]", "seen from", "here"], "llrrl", lines)


def of_task(found: dict[str, Any]) -> str:
    """Accuracy by change and length, of words by distance, beside the predicted inversion; and the directions."""
    lines = []
    for times, length in enumerate(found["lengths"]):
        for name, shares in found["predicted"].items():
            words, passages = (task.scores(found, name, length, words=words) for words in (True, False))
            if len(words):
                by_distance = [task.scores(found, name, length, at=(n,))[:, 1].mean() for n in SHOWN_DISTANCES]
                numbers = [shares[times], words[:, 1].mean(), *by_distance, *passages.mean(0)]
                lines.append([code(name), f"{length:,}", f"{len(words)}", *(f"{one:.3f}" for one in numbers)])
    titles = ["", "tokens", "pairs", "inversion predicted", "words found", *(f"{n:,} back" for n in SHOWN_DISTANCES)]
    table = grid([*titles, "first of passages", "second"], "l" + "r" * (len(titles) + 1), lines)
    by_place = []
    for name in found["predicted"]:
        for times in (2, 4):
            own = [task.scores(found, name, times * task.TRAINED, at=ALL, within=part)[:, 1] for part in PARTS]
            if len(own[0]):
                cells = [f"{cell.mean():.3f} of {len(cell)}" if len(cell) else "" for cell in own]
                by_place.append([code(name), f"{times * task.TRAINED:,}", *cells])
    titles = [
        "words of every distance, second block at",
        "tokens",
        *(f"{own.start:,} to {own.stop:,}" for own in PARTS),
    ]
    places = grid(titles, "l" + "r" * (len(PARTS) + 1), by_place)
    return "\n".join([table, "", places, "", judged(task.judged(found))])


def of_moebius(found: dict[str, Any]) -> str:
    """Means and deviations over seeds, their ratio, and what was expected."""
    lines = [
        [
            code(moebius.ARMS[name]),
            f"{len(found[name])}",
            f"{np.mean(found[name]):.3f}",
            f"{np.std(found[name], ddof=1):.3f}",
        ]
        for name in moebius.ARMS
    ]
    table = grid(["", "seeds", "exact match", "deviation over seeds"], "lrrr", lines)
    return "\n".join([table, "", judged(moebius.judged(found))])


def picture(record: dict[str, Any]) -> HeatMap:
    """Inversion by length, of changes of RoPE and of released models."""
    panels, names = [], []
    for title, kind in (("Changes of RoPE", "change"), ("Released models", "model")):
        own = {
            name: row
            for name, row in served(record, kind).items()
            if len(row["inversion"]) == len(rows.LENGTHS) and "layers, window" not in name
        }
        panels.append((title, np.array([row["inversion"] for row in own.values()])))
        names.append(tuple(own))
    return HeatMap(
        slug="inversion",
        title="How often the farther of two keys of equal content wins",
        x=Axis("length in tokens", names=("512", "", "2K", "", "8K", "", "32K", "", "128K", "", "512K", "1M")),
        y=Axis(""),
        z_title="inversion",
        panels=tuple(panels),
        rows=tuple(names),
        low=0.0,
        high=0.5,
    )


def filled(page: str) -> str:
    """The page with its tables."""
    record = read(rows.RECORD)
    parts = {
        "changes": table(record, "change"),
        "aliases": aliases(record),
        "models": table(record, "model"),
        "heads": of_heads(read(heads.RECORD)),
        "task": of_task(read(task.RECORD)),
        "moebius": of_moebius(read(moebius.RECORD)),
        "catalogue": table(record, "catalogue"),
    }
    for name, text in parts.items():
        page = refilled(page, f"<!-- {name} -->", text + "\n", f"<!-- end of {name} -->")
    return page


def main() -> None:
    """Fills the page and draws the figure."""
    README.write_text(filled(README.read_text()))
    PICTURE.write_bytes(render(picture(read(rows.RECORD)), ("png",))["png"])


if __name__ == "__main__":
    main()
