"""Tests of the second reading: means over the seeds that reach an accuracy, of what `share.py` kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from experiments.periodicity.along import SEEDS
from posenc_jax.statistics import Interval, mean_interval

MEASURES = ("share", "lift", "alias_excess")
MAIN = 0.5
"""The accuracy at which claims are tested."""
Json = dict[str, Any]
Tests = dict[str, tuple[str, str, str | None]]
"""Claim -> arm, measure, and the arm that is subtracted seed by seed."""


def over_seeds(
    found: Json, arm: str, level: float, measure: str, minus: str | None = None, seeds: tuple[int, ...] = SEEDS
) -> Interval:
    """The mean over the seeds that reach an accuracy, of a measure or of its difference to another arm's."""

    def of(name: str, seed: int) -> float | None:
        values = found["arms"][name]["at"][str(level)].get(str(seed))
        return None if values is None else values[measure]

    values = []
    for seed in seeds:
        own, other = of(arm, seed), 0.0 if minus is None else of(minus, seed)
        values.append(None if own is None or other is None else own - other)
    return mean_interval(values)


def through(found: Json, arm: str, levels: tuple[float, ...]) -> tuple[int, ...]:
    """The seeds that reach all of these accuracies: only those tell how a measure goes along training."""
    at = found["arms"][arm]["at"]
    return tuple(seed for seed in SEEDS if all(at[str(level)].get(str(seed)) is not None for level in levels))


def claims(found: Json) -> dict[str, Interval]:
    """Claims that were written down before the run, as means that should differ from 0, if their arms are there."""
    there = found["arms"]
    naming, back = (lambda name: f"{name}, position_of"), (lambda name: f"{name}, token_back")
    tests: Tests = {}
    for d in (8, 16, 32, 64, 128):
        tests[f"1. sinusoidal, d {d}: share"] = (naming(f"sinusoidal, d {d}"), "share", None)
    for d in (8, 64):
        plain = naming(f"sinusoidal, d {d}")
        tests[f"2. learned, d {d}: share"] = (naming(f"learned, d {d}"), "share", None)
        tests[f"3. low side lobes, d {d}: share minus the plain sinusoid's"] = (
            naming(f"low side lobes, d {d}"),
            "share",
            plain,
        )
    tests["4. tensor2tensor, d 8: share"] = (naming("tensor2tensor, d 8"), "share", None)
    for name in ("resonance", "low side lobes"):
        tests[f"6. rope, {name}, head 8: lift minus plain RoPE's"] = (
            back(f"rope, {name}, head 8"),
            "lift",
            back("rope, head 8"),
        )
    results = _tested(found, tests)
    heads = [back(f"rope, head {h}") for h in (8, 16, 32, 64)]
    if all(head in there for head in heads):
        results["5. RoPE: change of the lift for a head twice as wide"] = _trend(found, heads)
    return dict(sorted(results.items(), key=lambda item: item[0].partition(".")[0]))


def later_claims(found: Json) -> dict[str, Interval]:
    """Claims of the pages beyond `claims`: direction 7, which was written down but not among the 13, and claims that
    were seen in the numbers afterwards. They are a family of their own.
    """
    rope = "rope, head 8, token_back"
    tests: Tests = {}
    for name in ("transformer_xl", "learned", "shaw", "deberta", "t5", "fire"):
        expected = "above 0" if name == "transformer_xl" else "0"
        tests[f"7. {name}, head 8: lift, expected {expected}"] = (f"{name}, head 8, token_back", "lift", None)
    for name in ("p-RoPE", "xPos"):
        tests[f"7. {name}, head 8: lift minus plain RoPE's, expected 0 or less"] = (
            f"{name}, head 8, token_back",
            "lift",
            rope,
        )
    for arm in ("p-RoPE, head 8", "xPos, head 8", "sinusoidal, head 8", *(f"rope, head {h}" for h in (8, 16, 32, 64))):
        tests[f"seen: {arm}: lift"] = (f"{arm}, token_back", "lift", None)
    for measure, word in (("lift", "lift"), ("alias_excess", "alias excess")):
        tests[f"seen: rope, 8 heads of 8: {word} minus one head's"] = ("rope, 8 heads of 8, token_back", measure, rope)
    tests["seen: rope, resonance, head 8: alias excess"] = ("rope, resonance, head 8, token_back", "alias_excess", None)
    tests["seen: rope, low side lobes, head 8: lift"] = ("rope, low side lobes, head 8, token_back", "lift", None)
    return _tested(found, tests)


def wide_claims(found: Json) -> dict[str, Interval]:
    """Directions 8 to 11: other encodings in wide heads, and `token_at`. A family of its own."""
    tests: Tests = {}
    for h in (16, 32, 64):
        for name in ("transformer_xl", "p-RoPE", "xPos", "sinusoidal"):
            tests[f"8. {name}, head {h}: lift, expected above 0"] = (f"{name}, head {h}, token_back", "lift", None)
        for name in ("learned", "shaw", "deberta", "t5", "fire"):
            tests[f"9. {name}, head {h}: lift, expected 0"] = (f"{name}, head {h}, token_back", "lift", None)
        tests[f"10. rope, resonance, head {h}: lift minus plain RoPE's, expected below 0"] = (
            f"rope, resonance, head {h}, token_back",
            "lift",
            f"rope, head {h}, token_back",
        )
    for d in (8, 16, 64):
        tests[f"11. token_at, sinusoidal, d {d}: lift, expected above 0"] = (
            f"sinusoidal by name, d {d}, token_at",
            "lift",
            None,
        )
    for d in (8, 64):
        for name in ("learned", "low side lobes"):
            tests[f"11. token_at, {name}, d {d}: lift, expected 0"] = (f"{name} by name, d {d}, token_at", "lift", None)
    return _tested(found, tests)


def widest_claims(found: Json) -> dict[str, Interval]:
    """Direction 12: the plain sinusoid at d_model 256 and 512. A family of its own."""
    tests: Tests = {
        f"12. sinusoidal, d {d}: share, expected above 0": (f"sinusoidal, d {d}, position_of", "share", None)
        for d in (256, 512)
    }
    return _tested(found, tests)


def _tested(found: Json, tests: Tests) -> dict[str, Interval]:
    """Tests of the claims whose arms are there."""
    there = found["arms"]
    return {
        claim: over_seeds(found, arm, MAIN, measure, minus)
        for claim, (arm, measure, minus) in tests.items()
        if arm in there and (minus is None or minus in there)
    }


def _trend(found: Json, arms: list[str]) -> Interval:
    """The slope, seed by seed, of the lift over the logarithm of the width."""
    slopes: list[float | None] = []
    for seed in map(str, SEEDS):
        values = [found["arms"][arm]["at"][str(MAIN)].get(seed) for arm in arms]
        there = None not in values
        slopes.append(float(np.polyfit(range(len(arms)), [v["lift"] for v in values], 1)[0]) if there else None)
    return mean_interval(slopes)
