"""Two rules for differences of few paired seeds, by simulation: false finds and power, ours beside that of Du 2025.

    python -m experiments.protocols.simulate

Ours: the paired test of `posenc_jax.statistics.judge` with Holm's correction over the rows of a card. Theirs
(arXiv:2511.19794): a BCa interval and a sign-flip test that must both hold, row by row. Welch's test, which knows no
pairs, stands beside them. Scores are drawn for two arms with a correlation over seeds, in threes as a card has them.
Written are protocols.json beside this file and the tables of scripts/docs/protocols.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from posenc_jax.drawing.markdown import refilled
from posenc_jax.statistics import bca_intervals, judge, paired_comparison, sign_flip_p

SEEDS, REPEATS, ROWS = tuple(range(3, 13)), 1500, 3
RECORD = Path(__file__).resolve().with_name("protocols.json")
PAGE = Path(__file__).resolve().parents[2] / "scripts" / "docs" / "protocols.md"
BEGIN, END = "<!-- protocols -->", "<!-- end of protocols -->"
METHODS = ("ours", "BCa and flips", "BCa", "flips", "Welch")


class Setting(NamedTuple):
    """Two arms: distributions of a seed's score, by their quantile functions, and their correlation over seeds (of the
    normal scores behind both).
    """

    ours: stats.rv_continuous | tuple[float, float, float]
    theirs: stats.rv_continuous | tuple[float, float, float]
    correlation: float = 0.0


def beta(mean: float, deviation: float) -> object:
    """Scores between 0 and 1."""
    size = mean * (1 - mean) / deviation**2 - 1
    return stats.beta(mean * size, (1 - mean) * size)


WIDE, HIGH, RARE = beta(0.5, 0.1), beta(0.9, 0.1), (0.02, 0.95, 0.2)
SAME = {
    "0.5, deviation 0.1": Setting(WIDE, WIDE),
    "0.5, deviation 0.1, correlation 0.6": Setting(WIDE, WIDE, 0.6),
    "0.9, deviation 0.1": Setting(HIGH, HIGH),
    "half of the seeds 0, half 1": Setting((0.0, 1.0, 0.5), (0.0, 1.0, 0.5)),
    "a fifth 0.95, the others 0.02": Setting(RARE, RARE),
}
DIFFERENT = {
    "0.6 and 0.5, deviation 0.1": Setting(beta(0.6, 0.1), WIDE),
    "0.7 and 0.5, deviation 0.1": Setting(beta(0.7, 0.1), WIDE),
    "0.6 and 0.5, deviation 0.1, correlation 0.6": Setting(beta(0.6, 0.1), WIDE, 0.6),
    "0.98 and 0.85, deviation 0.02 and 0.1": Setting(beta(0.98, 0.02), beta(0.85, 0.1)),
    "three quarters 1, and one quarter": Setting((0.0, 1.0, 0.75), (0.0, 1.0, 0.25)),
}
"""Pairs of arms by what their seeds score; of three numbers: low, high, and the share at high."""


def scores(setting: Setting, seeds: int, repeats: int = REPEATS) -> tuple[np.ndarray, np.ndarray]:
    """``[repeats, seeds]`` of both arms."""
    rng = np.random.default_rng([seeds, repeats])
    first, noise = rng.normal(size=(2, repeats, seeds))
    second = setting.correlation * first + (1 - setting.correlation**2) ** 0.5 * noise
    arms = []
    for own, normal in ((setting.ours, first), (setting.theirs, second)):
        place = stats.norm.cdf(normal)
        if isinstance(own, tuple):
            low, high, share = own
            arms.append(np.where(place < share, high, low))
        else:
            arms.append(np.clip(own.ppf(place), 0, 1))
    return arms[0], arms[1]


def found(ours: np.ndarray, theirs: np.ndarray) -> dict[str, np.ndarray]:
    """Method -> ``[repeats]``, whether it finds a difference; "ours, card": corrected for the rows of its card."""
    differences = ours - theirs
    compared = [paired_comparison(list(a), list(b)) for a, b in zip(ours, theirs, strict=True)]

    def differs(rows: list) -> list[bool]:
        return [own.word in ("better", "worse") for own in judge([(row, "higher") for row in rows])]

    low, high = bca_intervals(differences)
    interval, flips = (low > 0) | (high < 0), sign_flip_p(differences) < 0.05
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = stats.ttest_ind(ours, theirs, axis=1, equal_var=False).pvalue
    return {
        "ours": np.array([word for row in compared for word in differs([row])]),
        "ours, card": np.array(
            [word for first in range(0, len(compared), ROWS) for word in differs(compared[first : first + ROWS])]
        ),
        "BCa and flips": interval & flips,
        "BCa": interval,
        "flips": flips,
        "Welch": np.nan_to_num(welch, nan=1.0) <= 0.05,
    }


def rates(setting: Setting, seeds: int) -> dict[str, list[float]]:
    """Method -> of 100 rows those in which it finds a difference, and of 100 cards those with any; ours is corrected
    for its card in the second.
    """
    by_method = found(*scores(setting, seeds))

    def share(hits: np.ndarray) -> float:
        return round(100 * float(hits.mean()), 1)

    return {
        name: [
            share(by_method[name]),
            share(by_method["ours, card" if name == "ours" else name].reshape(-1, ROWS).any(1)),
        ]
        for name in METHODS
    }


def tables(kept: dict) -> str:
    """Both tables as Markdown, of each setting the rates at some numbers of seeds; and their errors."""
    parts = []
    for part, title, which in (
        (
            "same",
            "Equal arms: of 100 rows those called different, of 100 cards of three those with any",
            (0, 1),
        ),
        ("different", "Different arms: of 100 rows those called different", (0,)),
    ):
        lines = [f"| {title} | seeds | {' | '.join(METHODS)} |", f"| --- | ---: |{' ---: |' * len(METHODS)}"]
        for name, by_seeds in kept[part].items():
            for seeds in SHOWN:
                cells = [", ".join(f"{by_seeds[seeds][method][n]:.1f}" for n in which) for method in METHODS]
                lines.append(f"| {name} | {seeds} | {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join((*parts, _errors(kept["repeats"], kept["rows"])))


def _errors(repeats: int, rows: int) -> str:
    """How far a percentage may be off by the luck of the simulation."""

    def points(share: float, count: int) -> str:
        return f"{100 * (share * (1 - share) / count) ** 0.5:.1f}"

    cards = repeats // rows
    return (
        f"A percentage p of n rows or cards has a standard error of sqrt(p (100 - p) / n). Of {repeats:,} rows it is "
        f"{points(0.05, repeats)} points at 5 % and {points(0.5, repeats)} at 50 %; of {cards:,} cards it is "
        f"{points(0.05, cards)} and {points(0.5, cards)}."
    )


SHOWN = ("3", "5", "6", "8", "12")
"""Numbers of seeds in the tables; the record has all."""


def main() -> None:
    """Writes the record and the page."""
    argparse.ArgumentParser(description=__doc__.partition("\n\n")[0]).parse_args()
    kept = {
        "repeats": REPEATS,
        "rows": ROWS,
        **{
            part: {name: {str(n): rates(setting, n) for n in SEEDS} for name, setting in settings.items()}
            for part, settings in (("same", SAME), ("different", DIFFERENT))
        },
    }
    RECORD.write_text(json.dumps(kept, indent=1) + "\n")
    PAGE.write_text(refilled(PAGE.read_text(), BEGIN, tables(kept), END))


if __name__ == "__main__":
    main()
