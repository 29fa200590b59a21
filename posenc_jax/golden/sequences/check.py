"""Compares what an engine computes with the golden sequences; NumPy is all that this needs.

    python check.py OUTPUTS.json     {"scenario": {"array": nested lists}, ...}, with null where nothing is computed

In Python: `scenarios` gives what to run, `check` compares its arrays.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("sequences-v1.json")


def scenarios() -> dict[str, Any]:
    """The scenarios by name, each with ``model``, ``inputs`` and ``outputs``."""
    return {own["name"]: own for own in json.loads(FILE.read_text(encoding="utf-8"))["scenarios"]}


def differing(label: str, found: Any, wanted: Any, tolerance: float = 1e-9) -> str | None:
    """The fault of an array: its shape, or the first index with the largest difference; None if there is none.

    Where ``wanted`` has null, any value will do. The tolerance is times its largest value where that is above 1.
    """
    found, right = np.array(found, np.float64), np.array(wanted, np.float64)
    if found.shape != right.shape:
        return f"{label}: the shape is {found.shape}, and must be {right.shape}"
    hidden = np.isnan(right)
    difference = np.where(hidden, 0.0, np.abs(found - np.where(hidden, 0.0, right)))
    difference = np.where(np.isnan(difference), np.inf, difference)
    if difference.max(initial=0.0) <= tolerance * max(1.0, np.abs(right[~hidden]).max(initial=0.0)):
        return None
    at = np.unravel_index(int(difference.argmax()), difference.shape)
    return (
        f"{label}[{', '.join(map(str, at))}]: {found[at]:.12g} is not {right[at]:.12g}; it differs by "
        f"{difference[at]:.2g}, and {tolerance:g} is allowed"
    )


def problems(name: str, outputs: Mapping[str, Any], *, tolerance: float = 1e-9) -> list[str]:
    """A line for each array of ``outputs`` that differs from the scenario's, in the order in which a model computes
    them, so that the first is nearest to the fault; then one for each that the scenario does not have.

    Raises:
      ValueError: there is no such scenario, no array is given, or the tolerance is no size.
    """
    known = scenarios()
    if name not in known:
        raise ValueError(f"{name!r} is no scenario: there are {', '.join(known)}")
    wanted = known[name]["outputs"]
    if not outputs:
        raise ValueError(f"nothing to compare with {name}: give some of {', '.join(wanted)}")
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"tolerance = {tolerance} must be a number from 0 up")
    lines = [
        differing(f"{name}, {array}", outputs[array], wanted[array], tolerance) for array in wanted if array in outputs
    ]
    lines += [f"{name} has no array {array!r}: it has {', '.join(wanted)}" for array in outputs if array not in wanted]
    return [line for line in lines if line]


def check(name: str, outputs: Mapping[str, Any], *, tolerance: float = 1e-9) -> None:
    """Raises a ValueError with the first of `problems`, if there is one."""
    for problem in problems(name, outputs, tolerance=tolerance):
        raise ValueError(problem)


def main(arguments: list[str] | None = None) -> int:
    """Prints a line for each scenario: how many of its arrays agree, or what differs first; 1 if any does."""
    parser = argparse.ArgumentParser(description="Compares what an engine computes with the golden sequences.")
    parser.add_argument("outputs", type=Path, help='a file: {"scenario": {"array": nested lists}, ...}')
    parser.add_argument("--tolerance", type=float, default=1e-9, help="1e-9 is for float64; float32 needs about 1e-4")
    given = parser.parse_args(arguments)
    try:
        outputs = json.loads(given.outputs.read_text(encoding="utf-8"))
        found = {name: problems(name, arrays, tolerance=given.tolerance) for name, arrays in outputs.items()}
    except (OSError, ValueError) as error:
        parser.error(str(error))
    for name, own in scenarios().items():
        same = len(outputs.get(name, ())) - len(found.get(name, ()))
        said = "DIFFERS" if found.get(name) else "agrees" if name in found else "IS MISSING"
        print(f"{name}: {said}, {same} of {len(own['outputs'])} arrays agree", *found.get(name, ())[:1], sep="\n  ")
    return int(any(found.values()) or len(found) < len(scenarios()))


if __name__ == "__main__":
    raise SystemExit(main())
