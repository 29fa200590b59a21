"""Compares an engine's rotary frequencies with those of released models; NumPy is all that this needs.

An engine is a function ``(config, layer, length) -> (inverse frequencies, attention factor)``, with an empty array for
a layer that does not rotate. ``length`` is that of the whole sequence: one below and one above the switch of each model
whose frequencies depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("rope-v1.json")
Engine = Callable[[Mapping[str, Any], int, int], tuple[Any, float]]


def models() -> list[dict[str, Any]]:
    """The models, each with ``name``, ``source``, ``config``, and ``groups`` of equal layers."""
    return json.loads(FILE.read_text(encoding="utf-8"))["models"]


def failures(engine: Engine, tolerance: float = 1e-6) -> list[str]:
    """A line for each model, layer and length at which an engine differs by more than ``tolerance`` of the value."""
    found = []
    for model in models():
        for group in model["groups"]:
            for layer in group["layers"]:
                for point in group["points"]:
                    mine, factor = engine(model["config"], layer, point["length"])
                    array, right = np.asarray(mine, np.float64), np.array(point["inverse_frequencies"], np.float64)
                    at = f"{model['name']}, layer {layer}, length {point['length']}"
                    if array.shape != right.shape:
                        found.append(f"{at}: {array.size} frequencies for {right.size}")
                    elif not np.all(np.abs(array - right) <= tolerance * right):
                        k = int(np.argmax(np.abs(array - right) > tolerance * right))
                        found.append(
                            f"{at}: inverse frequency {k} is {float(array[k])!r}, and must be {float(right[k])!r}"
                        )
                    elif abs(factor - group["attention_factor"]) > tolerance:
                        found.append(f"{at}: attention factor {factor!r}, and must be {group['attention_factor']!r}")
    return found
