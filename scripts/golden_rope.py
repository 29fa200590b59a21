"""Computes the numbers of posenc_jax/golden/rope/rope-v1.json from the configs that stand in it, in float64.

A model is added by its name, source and config; `scripts/regenerate` computes what there is of it beside these.
"""

from __future__ import annotations

import json
import math
from typing import Any

from posenc_jax.encodings import spec
from posenc_jax.huggingface import Layer, from_hf

FORMAT = "posenc rope 1"
CONVENTIONS = {
    "config": "the settings of the released model that positions depend on, as the source has them",
    "layers": "counted from 0; a group is layers with equal positions",
    "inverse_frequencies": "radians per position of each plane, in the order of planes, float64; [] without a rotation",
    "attention_factor": "what cosine and sine are multiplied by",
    "points": "lengths of the whole sequence: a short one, and where frequencies switch, the last below and above",
    "window": "keys that a query sees, itself among them (without a causal mask: of one side and itself); null: all",
}


def new_text(before: str, changed: list[str]) -> str:
    """The text of the file, a model a line; what is there and equal but for rounding stays to the bit.

    Raises:
      ValueError: the numbers of a model are other ones, and it is not ``changed``.
    """
    rows, differing = [], []
    for row in json.loads(before)["models"]:
        new = {name: row[name] for name in ("name", "source", "config")} | {"groups": groups(row["config"])}
        old = row if "groups" in row and row["name"] not in changed else new
        differing += [row["name"]] * (not alike(old, new))
        rows.append(old)
    if differing:
        raise ValueError(f"the numbers of {', '.join(differing)} changed\nif it is meant, --changed NAME")
    document = {"format": FORMAT, "conventions": CONVENTIONS, "models": rows}
    return json.dumps(document).replace('{"name"', '\n{"name"') + "\n"


def alike(old: Any, new: Any) -> bool:
    """True if two parts of the file are equal but for rounding."""
    if isinstance(new, dict):
        return isinstance(old, dict) and old.keys() == new.keys() and all(alike(old[name], new[name]) for name in new)
    if isinstance(new, list):
        return isinstance(old, list) and len(old) == len(new) and all(map(alike, old, new))
    if isinstance(new, float):
        return isinstance(old, float) and math.isclose(old, new, rel_tol=1e-12)
    return type(old) is type(new) and old == new


def groups(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups of equal layers of a config."""
    found: dict[Layer, list[int]] = {}
    for number, layer in enumerate(from_hf(config).layers):
        found.setdefault(layer, []).append(number)
    return [
        {
            "layers": numbers,
            "kind": layer.kind,
            "spec": spec(layer.encodings),
            "head_dim": layer.head_dim,
            "window": layer.window,
            "attention_factor": layer.attention_factor,
            "points": [
                {"length": length, "inverse_frequencies": layer.inverse_frequencies(length).tolist()}
                for length in lengths(layer)
            ],
        }
        for layer, numbers in found.items()
    ]


def lengths(layer: Layer) -> list[int]:
    """1, and the last below a switch and the first above."""
    switch = layer.switches_above
    return [1] if switch is None else [1, switch, switch + 1]
