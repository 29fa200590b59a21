"""The answers of a study as one table, heat maps, and a record."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from posenc_jax.context.prompts import DEPTHS, TASKS
from posenc_jax.drawing.plain import number
from posenc_jax.drawing.plots import Axis, HeatMap
from posenc_jax.drawing.quantities import NONE
from posenc_jax.drawing.text_table import TextTable
from posenc_jax.environments import OF_PROCESS, compared
from posenc_jax.files.shapes import Json
from posenc_jax.statistics import mean_interval
from posenc_jax.statistics.comparison import paired_comparison

BUCKETS = 8
"""The number of equal parts of a text whose losses are kept."""
_SHOWN = 0.5
"""The difference to the first change, in nats, at which the colours of the heat map end."""


def record(rows: Sequence[Json]) -> list[Json]:
    """An entry for each change and length, in the order of the rows.

    For each text ``buckets`` has the mean loss in each of `BUCKETS` parts, in nats a token, ``loss`` that of the whole
    text, and ``far`` that of the tokens that need far context, or None. Each task has its scores by prompt, with
    depths. ``elsewhere`` says how the environment of the answers differs from that of the first.
    """
    keys = {row["example"]: np.array(row["keys"], int) for row in rows if row["measure"] == "far"}
    found: dict[tuple[str, int], Json] = {}
    for row in rows:
        if row["measure"] == "far":
            continue
        own = found.setdefault(
            (row["change"], row["length"]), {name: row[name] for name in ("change", "length", "posenc")}
        )
        if row["measure"] in TASKS:
            own.setdefault(row["measure"], []).append(row["score"])
            if row["depth"] is not None:
                own.setdefault("depths", []).append(row["depth"])
            continue
        losses = np.array([math.nan if loss is None else loss for loss in row["losses"]])
        own.setdefault("texts", []).append(row["name"])
        own.setdefault("loss", []).append(_mean(losses))
        own.setdefault("buckets", []).append([_mean(part) for part in np.array_split(losses, BUCKETS)])
        if keys:
            there = keys[row["example"]]
            there = there[there < len(losses)]
            own.setdefault("far", []).append(_mean(losses[there]) if len(there) else None)
            own.setdefault("far_tokens", []).append(len(there))
    first = rows[0]["environment"] if rows else {}
    for row in (row for row in rows if row["environment"] != first):
        of_row = found.values() if row["measure"] == "far" else [found[row["change"], row["length"]]]
        for own in of_row:
            lines = compared(first, row["environment"], OF_PROCESS).lines
            own["elsewhere"] = list(dict.fromkeys([*own.get("elsewhere", []), *lines]))
    return list(found.values())


def _mean(losses: np.ndarray) -> float | None:
    mean = float(losses.mean())
    return round(mean, 5) if math.isfinite(mean) else None


def table(entries: Sequence[Json], title: str) -> TextTable:
    """One line for each change and length: perplexities and scores, and the paired difference to the first change at
    the same length with its 95 % interval, in nats for perplexities.
    """
    first = entries[0]["change"]
    baseline = {own["length"]: own for own in entries if own["change"] == first}
    columns = [name for name in _COLUMNS if any(_values(own, name) for own in entries)]
    lines = []
    for own in sorted(entries, key=lambda own: own["length"]):
        line = [own["change"], f"{own['length']:,}"]
        for name in columns:
            ours, theirs = _values(own, name), _values(baseline[own["length"]], name)
            shown = _shown(name, ours)
            line.append(shown if own["change"] == first or not ours else f"{shown}; {_difference(name, ours, theirs)}")
        lines.append(tuple(line))
    examples = {name: max(len(_values(own, name)) for own in entries) for name in columns}
    notes = (
        f"After the semicolon: the difference to {first} at the same length, paired, and its 95 % interval; of "
        "perplexities in nats a token (below 0 is better), of scores in shares (above 0 is better).",
        "Texts or prompts: " + ", ".join(f"{_COLUMNS[name]} {count}" for name, count in examples.items()) + ".",
        *(
            f"{own['change']} at {own['length']:,}: not known to be of the first answer's environment, so it may "
            f"differ by rounding too ({'; '.join(own['elsewhere'])})."
            for own in entries
            if "elsewhere" in own
        ),
    )
    titles = tuple(_COLUMNS[name] for name in columns)
    return TextTable(title, ("change", "length", *titles), "l" + "r" * (len(titles) + 1), tuple(lines), notes)


_COLUMNS = {
    "loss": "perplexity",
    "last": f"of the last {BUCKETS}th",
    "far": "of tokens that need far context",
    **{task: task for task in TASKS},
}


def _values(own: Json, name: str) -> list[float | None]:
    if name == "last":
        return [buckets[-1] for buckets in own.get("buckets", [])]
    found: list[float | None] = own.get(name, [])
    return found if any(value is not None for value in found) else []


def _shown(name: str, values: list[float | None]) -> str:
    if not values:
        return NONE
    score = name in TASKS
    found = mean_interval(values, **(_BOUNDS if score else {}))
    if found.mean is None:
        return NONE
    return number(found.mean, 2) if score else _perplexity(found.mean)


def _perplexity(loss: float) -> str:
    return f"{math.exp(loss):.4g}" if loss < 20 else f"e^{loss:.0f}"


_BOUNDS: Any = {"lower": 0.0, "upper": 1.0}


def _difference(name: str, ours: list[float | None], theirs: list[float | None]) -> str:
    bounds = _BOUNDS if name in TASKS else {"lower": -math.inf, "upper": math.inf}
    found = paired_comparison(ours, theirs or [None] * len(ours), **bounds)
    if found.difference is None:
        return NONE
    said = f"{found.difference:+.2f}"
    return said if found.low is None or found.high is None else f"{said} [{found.low:.2f}, {found.high:.2f}]"


def heat_maps(entries: Sequence[Json]) -> list[HeatMap]:
    """Losses by position, and the passkey by depth: a panel for each length, a row for each change."""
    lengths = sorted({own["length"] for own in entries})
    words = tuple(dict.fromkeys(own["change"] for own in entries))
    found = {(own["change"], own["length"]): own for own in entries}
    maps = []
    parts = tuple(f"{part + 1}/{BUCKETS}" for part in range(BUCKETS))
    if any("buckets" in own for own in entries):
        apart = len(words) > 1
        panels = _panels(words, lengths, lambda w, n: _means(found[w, n]["buckets"]))
        panels = tuple((name, values - values[:1] * apart) for name, values in panels)
        everything = np.concatenate([values for _, values in panels])
        low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
        most = min(max(-low, high), _SHOWN)
        maps.append(
            HeatMap(
                slug="loss",
                title=f"Loss by position, minus that of {words[0]}" if apart else "Loss by position",
                x=Axis("part of the text", names=parts),
                y=Axis("change", names=words),
                z_title="nats a token" + f", at most {_SHOWN:g}" * (apart and max(-low, high) > _SHOWN),
                panels=panels,
                low=-most if apart else low,
                high=most if apart else high,
                diverging=apart,
                columns=len(lengths),
                written=len(lengths) == 1,
            )
        )
    if any("passkey" in own for own in entries):

        def by_depth(word: str, length: int) -> list[float]:
            own = found[word, length]
            pairs = list(zip(own["depths"], own["passkey"], strict=True))
            return [_mean_of([score for at, score in pairs if at == depth]) for depth in DEPTHS]

        maps.append(
            HeatMap(
                slug="passkey",
                title="Passkey by depth",
                x=Axis("depth", names=tuple(f"{depth:g}" for depth in DEPTHS)),
                y=Axis("change", names=words),
                z_title="share found",
                panels=_panels(words, lengths, by_depth),
                low=0.0,
                high=1.0,
                columns=len(lengths),
                written=len(lengths) == 1,
            )
        )
    return maps


def _panels(words: Sequence[str], lengths: Sequence[int], values: Any) -> tuple[tuple[str, np.ndarray], ...]:
    return tuple(
        (f"{length:,} tokens", np.array([values(word, length) for word in words], np.float64)) for length in lengths
    )


def _means(buckets: list[list[float | None]]) -> list[float]:
    return [_mean_of([own for own in column if own is not None]) for column in zip(*buckets, strict=True)]


def _mean_of(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan
