"""Coverage of 95 % intervals for a rate, by simulation: the reason for the method in `posenc_jax.statistics`.

    python -m experiments.intervals.simulate

Each repeat draws the true rate of every seed, then its score on `EXAMPLES` examples. Two numbers a method: of how many
repeats in a hundred its interval holds the mean of the seeds' distribution, and the median width. They are written to
intervals.json beside this file and to scripts/docs/intervals.md, and what cards of `posenc verdict` say of them to
posenc_jax/verdict/coverage.json.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from experiments.intervals.methods import CONFIDENCE, EXAMPLES, METHODS, Bounds, accelerated, student
from posenc_jax.statistics import mean_interval, paired_difference, wilson
from posenc_jax.verdict.coverage import FILE, Kind

SEEDS, REPEATS = (3, 4, 5, 8, 10), 1000
RECORD = Path(__file__).resolve().with_name("intervals.json")
PAGE = Path(__file__).resolve().parents[2] / "scripts" / "docs" / "intervals.md"
Rates = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


class Arm(NamedTuple):
    """Distribution of the true rate of a seed: its mean, draws of it, the share of seeds at 1 if the others are at 0,
    and whether there are two kinds of seeds.
    """

    mean: float
    draw: Rates
    ones: float | None = None
    mixed: bool = False


def same(rate: float) -> Arm:
    """All seeds have one rate; only the examples differ."""
    return Arm(rate, lambda rng, shape: np.full(shape, rate))


def spread(mean: float, deviation: float) -> Arm:
    """A beta distribution."""
    size = mean * (1 - mean) / deviation**2 - 1
    return Arm(mean, lambda rng, shape: rng.beta(mean * size, (1 - mean) * size, shape))


def modes(low: float, high: float, share: float) -> Arm:
    """A share of the seeds at ``high``, the others at ``low``."""
    return Arm(
        low + share * (high - low),
        lambda rng, shape: np.where(rng.random(shape) < share, high, low),
        ones=share if (low, high) == (0, 1) else None,
        mixed=True,
    )


ARMS = {
    "all seeds 0.5": same(0.5),
    "all seeds 0.9": same(0.9),
    "all seeds 0.99": same(0.99),
    "all seeds 0.999": same(0.999),
    "0.5, deviation 0.1": spread(0.5, 0.1),
    "0.5, deviation 0.25": spread(0.5, 0.25),
    "0.3, deviation 0.2": spread(0.3, 0.2),
    "0.9, deviation 0.03": spread(0.9, 0.03),
    "0.9, deviation 0.1": spread(0.9, 0.1),
    "0.97, deviation 0.03": spread(0.97, 0.03),
    "0.1, deviation 0.15": spread(0.1, 0.15),
    "0.5, deviation 0.4": spread(0.5, 0.4),
    "half of the seeds 0, half 1": modes(0, 1, 0.5),
    "a quarter 1, the others 0": modes(0, 1, 0.25),
    "a tenth 1, the others 0": modes(0, 1, 0.1),
    "half 0.02, half 0.95": modes(0.02, 0.95, 0.5),
    "a fifth 0.95, the others 0.02": modes(0.02, 0.95, 0.2),
    "a fifth 0.3, the others 0.9": modes(0.3, 0.9, 0.8),
}
# Two arms whose rates are drawn apart: the spread that seeds share only helps.
PAIRS = {
    "no difference, 0.5, deviation 0.1": (spread(0.5, 0.1), spread(0.5, 0.1)),
    "no difference, 0.9, deviation 0.1": (spread(0.9, 0.1), spread(0.9, 0.1)),
    "no difference, all seeds 0.99": (same(0.99), same(0.99)),
    "no difference, 0.1, deviation 0.15": (spread(0.1, 0.15), spread(0.1, 0.15)),
    "no difference, half 0, half 1": (modes(0, 1, 0.5), modes(0, 1, 0.5)),
    "no difference, a quarter 1, the others 0": (modes(0, 1, 0.25), modes(0, 1, 0.25)),
    "0.1 apart, 0.6 and 0.5, deviation 0.1": (spread(0.6, 0.1), spread(0.5, 0.1)),
    "0.2 apart, 0.6 and 0.4, deviation 0.1": (spread(0.6, 0.1), spread(0.4, 0.1)),
    "0.07 apart, 0.97 and 0.9, deviation 0.03": (spread(0.97, 0.03), spread(0.9, 0.03)),
    "0.5 apart, half 0, half 1 against all 0": (modes(0, 1, 0.5), same(0.0)),
    "0.75 apart, three quarters 1 against all 0": (modes(0, 1, 0.75), same(0.0)),
    "0.4 apart, 0.5, deviation 0.25 against 0.1, deviation 0.1": (spread(0.5, 0.25), spread(0.1, 0.1)),
    "no difference, a fifth 0.95, the others 0.02": (modes(0.02, 0.95, 0.2), modes(0.02, 0.95, 0.2)),
    "0.186 apart, a fifth 0.95, the others 0.02 against all 0.02": (modes(0.02, 0.95, 0.2), same(0.02)),
    "0.12 apart, all 0.9 against a fifth 0.3, the others 0.9": (same(0.9), modes(0.3, 0.9, 0.8)),
}
# Differences of losses, or of logarithms of perplexities, in deviations of a usual seed: losses have no upper bound.
LOSSES = {
    "normal": Arm(0.0, lambda rng, shape: rng.normal(size=shape)),
    "skewed: log-normal, of deviation 1": Arm(math.exp(0.5), lambda rng, shape: rng.lognormal(size=shape)),
    "a tenth 5 deviations higher": Arm(0.5, lambda rng, shape: rng.normal(5.0 * (rng.random(shape) < 0.1))),
}


def scores_of(arm: Arm, seeds: int, repeats: int, name: str) -> np.ndarray:
    """``[repeats, seeds]``."""
    rng = np.random.default_rng(zlib.crc32(f"{name} {seeds}".encode()))
    return rng.binomial(EXAMPLES, arm.draw(rng, (repeats, seeds))) / EXAMPLES


def coverage(bounds: Bounds, mean: float) -> list[float]:
    """The coverage in percent, and the median width."""
    low, high = bounds
    held = (low <= mean + 1e-9) & (mean - 1e-9 <= high)
    return [round(100 * float(held.mean()), 1), round(float(np.median(high - low)), 3)]


def single(repeats: int = REPEATS) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Seeds -> arm -> method -> (coverage, width)."""
    return {
        str(seeds): {
            name: {
                method: coverage(bounds(scores_of(arm, seeds, repeats, name)), arm.mean)
                for method, bounds in METHODS.items()
            }
            for name, arm in ARMS.items()
        }
        for seeds in SEEDS
    }


def paired(repeats: int = REPEATS) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Seeds -> arms -> method -> (coverage, width, how often in a hundred the difference is told from 0)."""
    return {
        str(seeds): {name: _compared(name, ours, theirs, seeds, repeats) for name, (ours, theirs) in PAIRS.items()}
        for seeds in SEEDS
    }


def _compared(name: str, ours: Arm, theirs: Arm, seeds: int, repeats: int) -> dict[str, list[float]]:
    a, b = scores_of(ours, seeds, repeats, f"{name}: ours"), scores_of(theirs, seeds, repeats, f"{name}: theirs")
    mine = [paired_difference(dict(enumerate(x)), dict(enumerate(y)), CONFIDENCE, 0, 1) for x, y in zip(a, b)]
    found = {
        "score (used)": (np.array([one.interval.low for one in mine]), np.array([one.interval.high for one in mine])),
        "Student": student(a - b),
        "BCa": accelerated(a - b),
    }
    rows = {}
    for method, bounds in found.items():
        told = (bounds[0] > 0) | (bounds[1] < 0)
        rows[method] = [*coverage(bounds, ours.mean - theirs.mean), round(100 * float(told.mean()), 1)]
    rows["sign flips"] = [round(100 * float((_sign_flips(a - b) <= 1 - CONFIDENCE).mean()), 1)]
    return rows


def of_losses(repeats: int = REPEATS) -> dict[str, dict[str, list[float]]]:
    """Seeds -> differences -> (coverage, width) of the interval in use, which is Student's."""
    found: dict[str, dict[str, list[float]]] = {}
    for seeds in SEEDS:
        for name, arm in LOSSES.items():
            draws = arm.draw(np.random.default_rng(zlib.crc32(f"{name} {seeds}".encode())), (repeats, seeds))
            every = [mean_interval(row, CONFIDENCE) for row in draws]
            bounds = np.array([one.low for one in every]), np.array([one.high for one in every])
            found.setdefault(str(seeds), {})[name] = coverage(bounds, arm.mean)
    return found


def of_shares() -> dict[str, dict[str, float]]:
    """Seeds -> arm with seeds at 0 or 1 -> coverage in percent of Wilson's interval of the share at 1: all counts, no
    draws.
    """
    return {
        str(seeds): {name: _of_share(arm.ones, seeds) for name, arm in ARMS.items() if arm.ones is not None}
        for seeds in SEEDS
    }


def _of_share(ones: float, seeds: int) -> float:
    bounds = [wilson(count, seeds, CONFIDENCE) for count in range(seeds + 1)]
    holding = [count for count, (low, high) in enumerate(bounds) if low <= ones <= high]
    return round(100 * float(stats.binom.pmf(holding, seeds, ones).sum()), 1)


def of_cards(found: dict) -> dict[Kind, dict[str, list[float]]]:
    """Kind of scores -> seeds -> the least and the most coverage of the interval that cards show for them."""
    kinds: dict[Kind, dict[str, list[float]]] = {}
    for seeds in found["paired"]:
        by_kind: dict[Kind, list[float]] = {
            "losses": [held for held, _ in found["losses"][seeds].values()],
            "shares": [*found["shares"][seeds].values()],
        }
        for name, arms in PAIRS.items():
            at_ends = any(arm.ones is not None for arm in arms)
            kind: Kind = "ends" if at_ends else "mixed" if any(arm.mixed for arm in arms) else "inside"
            by_kind.setdefault(kind, []).append(found["paired"][seeds][name]["score (used)"][0])
        for kind, held in by_kind.items():
            kinds.setdefault(kind, {})[seeds] = [min(held), max(held)]
    return dict(sorted(kinds.items()))


def _sign_flips(differences: np.ndarray) -> np.ndarray:
    """``[repeats]``: the two-sided p of the exact test that flips the signs of differences."""
    seeds = differences.shape[1]
    signs = 1 - 2 * (np.arange(2**seeds)[:, None] >> np.arange(seeds) & 1)
    return (np.abs(differences @ signs.T) >= np.abs(differences.sum(1))[:, None] - 1e-9).mean(1)


def reachable(ones: float, seeds: int) -> np.ndarray:
    """The coverages (0 to 1) that a rule can have where each seed is 1 with the chance ``ones``, and 0 else.

    A rule that draws no lots and takes the seeds in any order sees how many are 1, so its coverage is the chance of
    those counts at which it holds the mean. At a half a rule that treats 0 and 1 alike holds it at k ones as it does
    at seeds - k.
    """
    chances = stats.binom.pmf(np.arange(seeds + 1), seeds, ones)
    if ones == 0.5:
        chances = (chances + chances[::-1])[: seeds // 2 + 1] / np.where(2 * np.arange(seeds // 2 + 1) == seeds, 2, 1)
    chosen = np.arange(2 ** len(chances))[:, None] >> np.arange(len(chances)) & 1
    return chosen @ chances


def page(found: dict) -> str:
    """The tables in Markdown."""
    own = "score (used)"
    lines = [
        "# Intervals at 3 to 10 seeds",
        "",
        f"Nominal {100 * CONFIDENCE:g} %; {found['repeats']:,} repeats, so 0.7 % of simulation error; "
        f"{found['examples']} examples a seed. Entries: of 100 repeats those whose interval holds the true mean "
        "(median width). Written by `python -m experiments.intervals.simulate`; `score` is what "
        "`posenc_jax.statistics.mean_interval` gives.",
        "",
        *_summary(found["single"]),
        "",
        *_failures(found["single"]),
    ]
    for seeds, arms in found["single"].items():
        lines += ["", f"## One arm, {seeds} seeds", "", f"| rates of the seeds | {' | '.join(METHODS)} |"]
        lines += ["| --- |" + " --- |" * len(METHODS)]
        for name, methods in arms.items():
            entries = [f"{held:.1f} ({width:.3f})" for held, width in methods.values()]
            lines.append(f"| {name} | {' | '.join(entries)} |")
    for seeds, pairs in found["paired"].items():
        lines += [
            "",
            f"## Differences, {seeds} pairs",
            "",
            "| arms | score (used) | Student | BCa | told from 0: score (used) | Student | BCa | sign flips |",
            "| --- |" + " --- |" * 7,
        ]
        for name, rows in pairs.items():
            held = [f"{rows[method][0]:.1f} ({rows[method][1]:.3f})" for method in (own, "Student", "BCa")]
            told = [f"{rows[method][-1]:.1f}" for method in rows]
            lines.append(f"| {name} | {' | '.join([*held, *told])} |")
    lines += [
        "",
        "## Losses",
        "",
        "Differences of losses, or of logarithms of perplexities, have no bounds, and Student's interval; widths are "
        "in deviations of a usual seed.",
        "",
        f"| differences | {' | '.join(f'{seeds} pairs' for seeds in found['losses'])} |",
        "| --- |" + " --- |" * len(found["losses"]),
    ]
    for name in LOSSES:
        entries = [f"{held:.1f} ({width:.2f})" for held, width in (own[name] for own in found["losses"].values())]
        lines.append(f"| {name} | {' | '.join(entries)} |")
    lines += [
        "",
        "## Shares of seeds",
        "",
        "Where an arm has seeds at 0 and at 1 a card of `posenc verdict` says which share of them solves the task, "
        "with Wilson's interval: of 100 repeats those in which it holds the true share, summed over all counts.",
        "",
        f"| share of seeds at 1 | {' | '.join(f'{seeds} seeds' for seeds in found['shares'])} |",
        "| --- |" + " --- |" * len(found["shares"]),
    ]
    for name in found["shares"][str(SEEDS[0])]:
        lines.append(f"| {name} | {' | '.join(f'{own[name]:.1f}' for own in found['shares'].values())} |")
    return "\n".join(lines) + "\n"


def _summary(single: dict) -> list[str]:
    """Summary of each method: in how many settings it keeps 93 to 97 %, and below or above."""
    lines = ["| method | 93 to 97 % | more | less | least |", "| --- | --- | --- | --- | --- |"]
    for method in METHODS:
        held = [arms[name][method][0] for arms in single.values() for name in arms]
        within = sum(93 <= one <= 97 for one in held)
        more, less = sum(one > 97 for one in held), sum(one < 93 for one in held)
        lines.append(f"| {method} | {within} | {more} | {less} | {min(held):.1f} % |")
    return [f"Settings (rates and seeds, {len(held)}) by coverage:", "", *lines]


def _failures(single: dict) -> list[str]:
    """Settings in which the interval that is used does not keep 93 %."""
    failing: dict[str, list[str]] = {}
    discrete = [(arm.ones, seeds) for arm in ARMS.values() if arm.ones is not None for seeds in SEEDS]
    never = sum(not np.any(abs(reachable(ones, seeds) - 0.95) <= 0.02) for ones, seeds in discrete)
    for seeds, arms in single.items():
        for name, methods in arms.items():
            if methods["score (used)"][0] < 93:
                failing.setdefault(name, []).append(f"{methods['score (used)'][0]:.1f} at {seeds}")
    return [
        "Where the interval that is used holds the true mean in fewer than 93 of 100 repeats, by seeds:",
        "",
        *(f"- {name}: {', '.join(held)}" for name, held in failing.items()),
        "",
        "Where a share of the seeds does something else than the others and none of it was drawn, no interval that is "
        "narrow for seeds that agree can know: only the worst case does, and it is too wide for all other uses. Where "
        "all seeds are equal the interval in use is the worst case too, which is why seeds at 0 or 1 often have more "
        "than 97.",
        "",
        f"In {never} of the {len(discrete)} settings with seeds at 0 or 1 no rule has 93 to 97 that "
        "depends on the scores alone (not on their order, or on chance): they are then a count, and a coverage the "
        "chance of some of the counts. With three seeds, half of them at 1, a rule that treats 0 and 1 alike has 0, "
        "25, 75 or 100.",
    ]


def main() -> None:
    """Writes the record, its page and what cards say of it."""
    argparse.ArgumentParser(description=__doc__.partition("\n\n")[0]).parse_args()
    found = {
        **{"examples": EXAMPLES, "repeats": REPEATS, "single": single(), "paired": paired()},
        **{"losses": of_losses(), "shares": of_shares()},
    }
    for path, text in texts(found).items():
        path.write_text(text)


def texts(found: dict) -> dict[Path, str]:
    """The files that a record makes."""
    return {
        RECORD: _flat(found),
        PAGE: page(found),
        FILE: _a_row_a_line(of_cards(found)),
    }


def _a_row_a_line(found: dict[Kind, dict[str, list[float]]]) -> str:
    rows = ",\n".join(f"{json.dumps(kind)}: {json.dumps(by_seeds)}" for kind, by_seeds in found.items())
    return f"{{\n{rows}\n}}\n"


def _flat(found: dict) -> str:
    """JSON with a method's numbers on one line."""
    text = json.dumps(found, indent=1) + "\n"
    return re.sub(r"\[\s+([^\]]*?)\s+\]", lambda match: "[" + re.sub(r"\s+", " ", match.group(1)) + "]", text)


if __name__ == "__main__":
    main()
